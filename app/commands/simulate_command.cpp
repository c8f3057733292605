#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/command.h"
#include "app/commands/simulate_check.h"
#include "app/commands/simulate_options.h"
#include "ml/simulator/campaign/pilot.h"
#include "ml/simulator/campaign/run_campaign.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;
using namespace simulator;

constexpr const char* kFooter =
    "Without --scenario, --normal or --campaign it writes the run of the sample: two ranks, whose sampler begins to build long lists.\n"
    "A run's folder holds traces, logs, stack samples and truth.json, which says what was injected, where and when; `import` takes the "
    "folder\n"
    "and never reads the truth. A campaign's folder holds a folder for each run and manifest.json, which assigns whole runs to training,\n"
    "validation and test; stopped, it goes on with the same command.\n"
    "\n"
    "Simulated data is called simulated wherever it is shown. In it\n"
    "  measured   texts of ranges, kernels and log lines, kernels per layer, launches and gaps, from published traces and sources;\n"
    "  computed   the time of a kernel from the model's sizes and the GPU's bandwidth and arithmetic, what waits for what;\n"
    "  assumed    jitter, the load, the sizes of faults where no incident gives them.\n"
    "--check shows how far from a real capture that is: distances are |ln(simulated / real)| of counts and times, differences of shares, "
    "and\n"
    "1 - overlap of names; the worst rows come first.";

/// What goes to standard error while runs are made.
class RunProgress {
public:
    RunProgress(const CommandIo& io, bool wanted) : io_(io), wanted_(wanted || io.err_is_terminal) {}
    ~RunProgress() {
        if (open_) fmt::print(io_.err, "\r\x1b[K");
    }
    RunProgress(const RunProgress&) = delete;
    RunProgress& operator=(const RunProgress&) = delete;

    void about(std::string what) { what_ = std::move(what); }

    Progress progress() {
        Progress progress{io_.stop, {}};
        if (wanted_) progress.report = [this](const ProgressReport& report) { show(report); };
        return progress;
    }

private:
    void show(const ProgressReport& report) {
        const auto now = std::chrono::steady_clock::now();
        if (now - shown_ < (io_.err_is_terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000))) return;
        shown_ = now;
        fmt::print(io_.err, "{}{}: {} events{}", io_.err_is_terminal ? "\r\x1b[K" : "", what_, grouped(report.events),
                   io_.err_is_terminal ? "" : "\n");
        std::fflush(io_.err);
        open_ = io_.err_is_terminal;
    }

    const CommandIo& io_;
    bool wanted_, open_ = false;
    std::string what_ = "simulating";
    std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

std::string_view class_word(const FaultInfo& info) { return info.look_alike ? "look-alike" : fault_class_name(info.type); }

Json json_of(const RunOptions& options) {
    const Deployment& d = options.deployment;
    return {{"engine", engine_name(d.engine)},
            {"model", d.model},
            {"gpu", d.gpu},
            {"tp", d.tp},
            {"dp", d.dp},
            {"nodes", d.nodes},
            {"graphs", graph_mode_name(d.graphs)},
            {"dialect", dialect_name(options.recording.dialect)},
            {"duration_s", options.duration_s},
            {"seed", options.seed}};
}

int run_list(const SimulateOptions& options, const CommandIo& io) {
    Json rows = Json::array();
    std::vector<std::vector<std::string>> table;
    for (const FaultInfo& info : fault_catalogue()) {
        if (info.reserved && !options.reserved) continue;
        Json engines = Json::array();
        for (int e = 0; e < kEngineCount; ++e) {
            if (info.engines >> e & 1) engines.push_back(engine_name(static_cast<Engine>(e)));
        }
        rows.push_back(Json{{"name", info.name},
                            {"id", info.id},
                            {"class", class_word(info)},
                            {"look_alike", info.look_alike},
                            {"reserved", info.reserved},
                            {"sentence", info.sentence},
                            {"engines", engines},
                            {"ranks", info.ranks},
                            {"size", info.size.empty() ? Json() : Json(info.size)},
                            {"smallest", info.size.empty() ? Json() : Json(info.smallest)},
                            {"largest", info.size.empty() ? Json() : Json(info.largest)}});
        table.push_back({std::string(info.name), std::string(info.id), std::string(class_word(info)), std::string(info.sentence)});
    }
    if (options.json) {
        print_json(io, rows);
    } else {
        print_text(io, aligned_table(table, {}));
    }
    return finish_output(io);
}

/// What of a finished run is unlike what was asked for.
std::vector<std::string> warnings_about(const SimulationJob& job, const SimulationSummary& summary) {
    std::vector<std::string> warnings;
    if (summary.steps == 0) {
        warnings.emplace_back("no request was served in this time: give a longer --duration or a higher --arrival-rate");
    } else if (summary.events == 0) {
        warnings.emplace_back("the traces are empty: fewer steps were served than --skip-steps leaves out");
    }
    if (job.fault && job.fault->inject && !job.fault->info->look_alike && summary.steps > 0 && summary.faulty_steps + summary.faulty_requests == 0) {
        warnings.emplace_back("the fault cost no step and no request as much as shows: give a higher --intensity, a longer --duration or another load");
    }
    return warnings;
}

Json json_of(const SimulationJob& job, const SimulationSummary& summary, double seconds) {
    Json json{{"folder", job.folder}, {"simulated", true}, {"scenario", nullptr}};
    if (job.fault) {
        json["scenario"] = {{"name", job.fault->info->name},
                            {"id", job.fault->info->id},
                            {"class", class_word(*job.fault->info)},
                            {"injected", job.fault->inject}};
    }
    json.update(json_of(summary.options));
    json.update(Json{{"format", format_word(job.format)},
                     {"files", summary.files},
                     {"events", summary.events},
                     {"steps", summary.steps},
                     {"faulty_steps", summary.faulty_steps},
                     {"requests", summary.requests},
                     {"faulty_requests", summary.faulty_requests},
                     {"tokens_out", summary.tokens_out},
                     {"log_lines", summary.log_lines},
                     {"samples", summary.samples},
                     {"stuck", summary.stuck},
                     {"warnings", warnings_about(job, summary)},
                     {"seconds", seconds}});
    return json;
}

void describe(const CommandIo& io, const SimulationJob& job, const SimulationSummary& summary, double seconds) {
    const Deployment& d = summary.options.deployment;
    print_text(io, fmt::format("simulated: {} serving {} on {} x {}, {}\n", engine_name(d.engine), d.model, d.tp * d.dp, d.gpu,
                               !job.fault          ? "a normal run"
                               : job.fault->inject ? fmt::format("scenario {} ({})", job.fault->info->name, class_word(*job.fault->info))
                                                   : fmt::format("scenario {} without its fault", job.fault->info->name)));
    print_text(io,
               aligned_table({{"events", grouped(summary.events)},
                              {"steps", grouped(summary.steps), fmt::format("{} of them faulty", grouped(summary.faulty_steps))},
                              {"requests", grouped(summary.requests), fmt::format("{} of them touched", grouped(summary.faulty_requests))},
                              {"tokens generated", grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, summary.tokens_out)))},
                              {"log messages", grouped(summary.log_lines)},
                              {"stack samples", grouped(summary.samples)}},
                             {false, true, false}));
    if (summary.stuck) print_text(io, "the run ended in a hang, as the scenario has it\n");
    for (const std::string& sentence : warnings_about(job, summary)) print_text(io, sentence + "\n");
    for (const std::string& file : summary.files) print_text(io, fmt::format("{}\n", (std::filesystem::path(job.folder) / file).string()));
    print_text(io, fmt::format("written in {:.2f} s; next: faultline import -o CAPTURE.faultline {}\n", seconds, job.folder));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run_one(const SimulateOptions& options, const CommandIo& io) {
    const auto job = job_of(options);
    if (!job) return report_failure(io, job.error());
    std::error_code error;
    const bool was_there = std::filesystem::exists(job->folder, error);
    const auto start = std::chrono::steady_clock::now();
    Result<SimulationSummary> summary;
    {
        RunProgress progress(io, options.progress);
        summary = simulate(*job, progress.progress());
    }
    if (!summary) {
        if (!was_there) std::filesystem::remove(job->folder, error);  // empty by now
        return report_failure(io, summary.error());
    }
    if (options.json) {
        print_json(io, json_of(*job, *summary, seconds_since(start)));
    } else {
        describe(io, *job, *summary, seconds_since(start));
    }
    return finish_output(io);
}

Json json_of(const CampaignPlan& plan, const std::string& folder, const CampaignSummary& summary, double seconds) {
    Json splits{{"train", 0}, {"validation", 0}, {"test", 0}}, classes = Json::object();
    for (const CampaignRun& run : plan.runs) {
        splits[std::string(split_name(run.split))] = splits[std::string(split_name(run.split))].get<int>() + 1;
        const std::string word(run.scenario() != nullptr ? class_word(*run.scenario()) : "normal");
        classes[word] = classes.value(word, 0) + 1;
    }
    return {{"folder", folder},
            {"simulated", true},
            {"campaign", campaign_name(plan.request.size)},
            {"reserved", plan.request.reserved},
            {"seed", plan.request.seed},
            {"plan", plan.hash},
            {"runs", summary.runs},
            {"made", summary.made},
            {"kept", summary.kept},
            {"splits", splits},
            {"classes", classes},
            {"request_traces", summary.traces},
            {"faulty_request_traces", summary.faulty_traces},
            {"request_trace_steps", summary.trace_steps},
            {"planned_request_traces", summary.planned_traces},
            {"planned_faulty_request_traces", summary.planned_faulty_traces},
            {"short_runs", summary.short_runs},
            {"events", summary.events},
            {"steps", summary.steps},
            {"faulty_steps", summary.faulty_steps},
            {"seconds", seconds}};
}

/// How long `rest` runs take when `done` took so long.
std::string time_left(double seconds, std::size_t done, std::size_t rest) {
    const double left = seconds / static_cast<double>(done) * static_cast<double>(rest);
    return left < 90 ? fmt::format("{:.0f} s", left) : fmt::format("{:.0f} min", left / 60);
}

int run_campaign_command(const SimulateOptions& options, const CommandIo& io) {
    const CampaignRequest request{*campaign_named(options.campaign), options.seed, options.reserved, format_of(options)};
    const CampaignPlan plan = plan_campaign(request, fault_catalogue());
    const auto start = std::chrono::steady_clock::now();
    Result<CampaignSummary> summary;
    {
        RunProgress progress(io, options.progress);
        std::size_t first = plan.runs.size();  // that this command makes: those before it were there
        summary = run_campaign(plan, options.folder, simulate_with_history, progress.progress(), [&](std::size_t position, const CampaignRun&) {
            first = std::min(first, position);
            std::string left;
            if (position > first) left = fmt::format(", about {} left", time_left(seconds_since(start), position - first, plan.runs.size() - position));
            progress.about(fmt::format("run {} of {}{}", position + 1, plan.runs.size(), left));
        });
    }
    if (!summary) return report_failure(io, summary.error());
    if (options.json) {
        print_json(io, json_of(plan, options.folder, *summary, seconds_since(start)));
        return finish_output(io);
    }
    print_text(io, fmt::format("simulated: campaign {}, {} runs, {} made now, {} there before\n", options.campaign, summary->runs,
                               summary->made, summary->kept));
    print_text(io, fmt::format("{} request traces with {} steps, {} of them faulty; planned were {} and {}\n", summary->traces,
                               summary->trace_steps, summary->faulty_traces, summary->planned_traces, summary->planned_faulty_traces));
    for (const std::string& sentence : summary->short_runs) print_text(io, sentence + "\n");
    print_text(io, fmt::format("{}/manifest.json written, {:.1f} s in all\n", options.folder, seconds_since(start)));
    return finish_output(io);
}

std::string value_text(const std::optional<double>& value, CheckUnit unit) {
    if (!value) return "-";
    switch (unit) {
        case CheckUnit::nanoseconds: return duration_text(static_cast<TimeNs>(*value));
        case CheckUnit::share: return fmt::format("{:.1f} %", *value * 100);
        case CheckUnit::count: break;
    }
    return fmt::format("{:.4g}", *value);
}

std::string_view unit_word(CheckUnit unit) { return unit == CheckUnit::count ? "count" : unit == CheckUnit::share ? "share" : "ns"; }

Json json_of(const CheckAnswer& answer) {
    Json rows = Json::array();
    for (const CheckRow& row : answer.table.rows) {
        rows.push_back(Json{{"phase", row.phase.empty() ? Json() : Json(row.phase)},
                            {"measure", row.measure},
                            {"unit", unit_word(row.unit)},
                            {"real", row.real ? Json(*row.real) : Json()},
                            {"simulated", row.simulated ? Json(*row.simulated) : Json()},
                            {"distance", row.not_comparable.empty() ? Json(row.distance) : Json()},
                            {"not_comparable", row.not_comparable.empty() ? Json() : Json(row.not_comparable)}});
    }
    return {{"capture", answer.capture},   {"simulated_run", json_of(answer.options)},    {"reasons", answer.reasons},
            {"notes", answer.table.notes}, {"mean_distance", answer.table.mean_distance}, {"rows", rows}};
}

void describe(const CommandIo& io, const CheckAnswer& answer) {
    print_text(io, fmt::format("{}\n", answer.capture));
    for (const std::string& reason : answer.reasons) print_text(io, fmt::format("  {}\n", reason));
    for (const std::string& note : answer.table.notes) print_text(io, fmt::format("  {}\n", note));
    std::vector<std::vector<std::string>> rows{{"distance", "phase", "measure", "real", "simulated", ""}};
    for (const CheckRow& row : answer.table.rows) {
        const bool compared = row.not_comparable.empty();
        rows.push_back({compared ? fmt::format("{:.3f}", row.distance) : "-", row.phase, row.measure, value_text(row.real, row.unit),
                        value_text(row.simulated, row.unit), compared ? std::string() : "not comparable: " + row.not_comparable});
    }
    print_text(io, aligned_table(rows, {true, false, false, true, true, false}));
    print_text(io, fmt::format("mean distance {:.3f} over {} rows, {} more not comparable\n", answer.table.mean_distance, answer.table.compared,
                               answer.table.rows.size() - answer.table.compared));
}

int run_check(const SimulateOptions& options, const CommandIo& io) {
    Json answers = Json::array();
    bool first = true;
    for (const std::string& path : options.check) {
        Result<CheckAnswer> answer;
        {
            RunProgress progress(io, options.progress);
            progress.about(path);
            answer = check_capture(path, options, progress.progress());
        }
        if (!answer) return report_failure(io, answer.error());
        if (options.json) {
            answers.push_back(json_of(*answer));
        } else {
            if (!first) print_text(io, "\n");
            describe(io, *answer);
        }
        first = false;
    }
    if (options.json) print_json(io, answers);
    return finish_output(io);
}

int run_simulate(const SimulateOptions& options, const CommandIo& io) {
    if (const auto good = check_combination(options); !good) return report_failure(io, good.error());
    if (options.list) return run_list(options, io);
    if (!options.check.empty()) return run_check(options, io);
    return options.campaign.empty() ? run_one(options, io) : run_campaign_command(options, io);
}

}  // namespace

void add_simulate_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command =
        program.add_subcommand("simulate", "Write simulated captures of LLM serving, with a fault injected and the truth about it");
    command->footer(kFooter);
    const auto options = std::make_shared<SimulateOptions>();
    add_simulate_options(*command, *options);
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_simulate(*options, io); }; });
}

}  // namespace faultline
