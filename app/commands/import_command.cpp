#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "app/commands/command.h"
#include "core/layer_rules.h"
#include "core/step_grammar.h"
#include "importers/import_capture.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct ImportOptions {
    ImportRequest request;
    bool json = false;
    bool progress = false;
};

std::string_view phase_text(ImportPhase phase) {
    switch (phase) {
        case ImportPhase::reading: return "reading";
        case ImportPhase::sorting: return "sorting";
        case ImportPhase::binding: return "building chains";
        case ImportPhase::steps: return "finding steps";
        case ImportPhase::writing: return "writing";
        case ImportPhase::analysis: break;
    }
    return "aligning logs and judging steps";
}

/// One line that is rewritten on a terminal, else a line a second. Reports may come from any thread.
class ProgressLine {
public:
    explicit ProgressLine(const CommandIo& io) : io_(io) {}

    void show(const ProgressReport& report) {
        const std::lock_guard lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        if (now - shown_ < (io_.err_is_terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000))) return;
        shown_ = now;
        const std::string share = report.bytes_total == 0 ? fmt::format("{} MB", report.bytes_done / 1'000'000)
                                                          : fmt::format("{} %", report.bytes_done * 100 / report.bytes_total);
        fmt::print(io_.err, "{}{}: {}, {} events{}", io_.err_is_terminal ? "\r\x1b[K" : "", phase_text(report.phase), share,
                   grouped(report.events), io_.err_is_terminal ? "" : "\n");
        std::fflush(io_.err);
        open_ = io_.err_is_terminal;
    }
    ~ProgressLine() {
        if (open_) fmt::print(io_.err, "\r\x1b[K");
    }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

private:
    const CommandIo& io_;
    std::mutex mutex_;
    std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
    bool open_ = false;
};

Json summary_json(const ImportSummary& summary) {
    Json sources = Json::array();
    for (const ImportedSource& source : summary.sources)
        sources.push_back(Json{{"path", source.path}, {"format", source.format}, {"events", source.events}, {"bytes", source.bytes}});
    const BuildSummary& counts = summary.counts;
    return {{"capture", summary.capture},
            {"sources", sources},
            {"spans", counts.spans},
            {"kernels", counts.kernels},
            {"api_calls", counts.api_calls},
            {"ranges", counts.ranges},
            {"ops", counts.ops},
            {"logs", counts.logs},
            {"steps", counts.steps},
            {"requests", summary.requests},
            {"bound_kernels", counts.bound_kernels},
            {"unbound_kernels", counts.unbound_kernels},
            {"ledger", json_of(summary.ledger)},
            {"health", json_of(summary.health)},
            {"seconds", summary.seconds}};
}

void describe(const CommandIo& io, const ImportSummary& summary) {
    for (const ImportedSource& source : summary.sources)
        print_text(io, fmt::format("{}: {}, {} events, {} bytes\n", source.path, source.format, grouped(source.events), grouped(source.bytes)));
    const BuildSummary& counts = summary.counts;
    print_text(io, aligned_table(
                  {{"spans", grouped(counts.spans)},
                   {"kernels", grouped(counts.kernels),
                    fmt::format("{} bound, {} unbound", grouped(counts.bound_kernels), grouped(counts.unbound_kernels))},
                   {"API calls", grouped(counts.api_calls)},
                   {"ranges", grouped(counts.ranges)},
                   {"operators", grouped(counts.ops)},
                   {"steps", grouped(counts.steps)},
                   {"requests", grouped(summary.requests)},
                   {"log messages", grouped(counts.logs)},
                   {"records read", grouped(summary.ledger.read), fmt::format("{} of them repaired", grouped(summary.ledger.repaired))},
                   {"records dropped", grouped(summary.ledger.dropped)}},
                  {false, true, false}));
    for (const HealthFinding& finding : summary.health)
        print_text(io, fmt::format("{}: {}\n", severity_name(finding.severity), finding.sentence));
    print_text(io, fmt::format("{} written in {:.2f} s\n", summary.capture, summary.seconds));
    if (summary.ledger.repaired + summary.ledger.dropped > 0) print_text(io, fmt::format("See why: faultline ledger {}\n", summary.capture));
}

int run_import(const ImportOptions& options, const CommandIo& io) {
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    Result<ImportSummary> summary;
    {
        ProgressLine line(io);
        Progress progress{io.stop, {}};
        if (options.progress || io.err_is_terminal) progress.report = [&line](const ProgressReport& report) { line.show(report); };
        summary = import_capture(options.request, {grammar, layers, RequestRules::built_in()}, progress);
    }
    if (!summary) return report_failure(io, summary.error());
    if (options.json)
        print_json(io, summary_json(*summary));
    else
        describe(io, *summary);
    return finish_output(io);
}

}  // namespace

void add_import_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand("import", "Import traces of any known format into a capture, with chains and steps");
    const auto options = std::make_shared<ImportOptions>();
    command->add_option("-o,--output", options->request.capture, "The capture to write")->type_name("CAPTURE.faultline")->required();
    command->add_option("INPUT", options->request.inputs, "Files, folders, or - for standard input");
    command->add_option("--log", options->request.logs, "A service log, whatever it looks like (may be given again)")
        ->type_name("FILE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_flag("--append", options->request.append, "Add to an existing capture");
    command->add_option("--assign-rank", options->request.assign_rank, "The rank of the inputs, where they do not say it")
        ->type_name("N")
        ->check(check_whole_number);
    command->add_option("--clock-offset-ns", options->request.clock_offset_ns, 
                        "Nanoseconds added to the times of these inputs; where traces and logs come together, to those of the logs")
        ->type_name("N")
        ->check(check_signed_number);
    command->add_option("--time-zone", options->request.time_zone,
                        "Zone of stamps that have none: UTC, +08:00 or a name such as Europe/Berlin; else it is found out")
        ->type_name("TZ");
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->add_flag("--progress", options->progress, "Report progress on standard error also where it is no terminal");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_import(*options, io); }; });
}

}  // namespace faultline
