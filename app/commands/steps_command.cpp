#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct StepsOptions {
    std::string capture;
    std::optional<std::string> instance;
    bool outliers = false;
    bool fail_on_fault = false;
    bool json = false;
};

/// A step of the answer, or a stall.
struct Row {
    const Step* step = nullptr;
    const StepVerdict* verdict = nullptr;  ///< null where the capture was never analysed
    std::vector<std::string> requests;

    [[nodiscard]] TimeNs duration() const { return step->end - step->start; }
    [[nodiscard]] TimeNs own() const { return verdict ? verdict->own_ns.value_or(duration()) : duration(); }
    [[nodiscard]] bool judged() const { return verdict && (verdict->expected_ns || verdict->reasons != 0); }
    [[nodiscard]] bool outlier() const { return verdict && verdict->outlier; }
    /// Stalls first, then what is out of line, then what was judged, then the rest.
    [[nodiscard]] int order() const { return step->kind == StepKind::stall ? 0 : outlier() ? 1 : judged() ? 2 : 3; }
    [[nodiscard]] double ratio() const { return verdict && verdict->ratio ? *verdict->ratio : 0; }
};

std::vector<Row> rows_of(const AnalysedCapture& capture, const StepsOptions& options) {
    std::map<StepId, const StepVerdict*> verdicts;
    for (const StepVerdict& v : capture.verdicts) verdicts[v.step] = &v;
    std::map<StepId, std::vector<std::string>> requests;
    for (const Request& r : capture.requests)
        for (const StepId step : r.steps) requests[step].push_back(r.name);
    std::vector<Row> rows;
    for (const Step& step : capture.steps) {
        if (options.instance && step.instance != *options.instance) continue;
        const auto verdict = verdicts.find(step.id);
        Row row{&step, verdict == verdicts.end() ? nullptr : verdict->second, {}};
        if (options.outliers && !row.outlier()) continue;
        if (const auto named = requests.find(step.id); named != requests.end()) row.requests = named->second;
        rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        if (a.order() != b.order()) return a.order() < b.order();
        if (a.ratio() != b.ratio()) return a.ratio() > b.ratio();
        return a.own() > b.own();
    });
    return rows;
}

Json json_of(const Row& row) {
    const Step& s = *row.step;
    const StepVerdict none;
    const StepVerdict& v = row.verdict ? *row.verdict : none;
    return Json{{"id", index_of(s.id)},
                {"name", s.name},
                {"kind", s.kind == StepKind::stall ? "stall" : "step"},
                {"phase", phase_name(s.phase)},
                {"start_ns", s.start},
                {"duration_ns", row.duration()},
                {"host_ns", s.host_ns},
                {"inferred", s.inferred},
                {"tokens", json_or_null(s.tokens)},
                {"batch", json_or_null(s.batch)},
                {"instance", s.instance},
                {"ranks", s.ranks},
                {"requests", row.requests},
                {"expected_ns", json_or_null(v.expected_ns)},
                {"ratio", v.ratio ? Json(*v.ratio) : Json(nullptr)},
                {"outlier", v.outlier},
                {"reasons", reason_names(v.reasons)},
                {"bound", bound_name(v.bound)},
                {"kernel_busy_ns", s.kernel_busy_ns},
                {"kernels", s.kernels},
                {"rule", v.rule},
                {"sentence", v.sentence},
                {"own_ns", row.own()}};
}

bool overlap(const std::vector<Row>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.own() != r.duration(); });
}

std::string table(const std::vector<Row>& rows) {
    const bool with_own = overlap(rows);
    std::vector<std::vector<std::string>> cells{
        {"step", "at", "lasted", "expected", "ratio", "phase", "tokens", "batch", "bound", "out of line", "rule", "name"}};
    if (with_own) cells[0].insert(cells[0].begin() + 3, "own");
    for (const Row& row : rows) {
        const Step& s = *row.step;
        const StepVerdict none;
        const StepVerdict& v = row.verdict ? *row.verdict : none;
        const auto count = [](std::optional<std::int64_t> n) { return n ? fmt::format("{}", *n) : "-"; };
        cells.push_back({fmt::format("{}", index_of(s.id)), time_text(s.start), duration_text(row.duration()),
                         v.expected_ns ? duration_text(*v.expected_ns) : "-", v.ratio ? fmt::format("{:.2f}", *v.ratio) : "-",
                         s.kind == StepKind::stall ? "stall" : std::string(phase_name(s.phase)), count(s.tokens), count(s.batch),
                         std::string(bound_name(v.bound)),
                         v.outlier      ? fmt::format("{}", fmt::join(reason_names(v.reasons), ", "))
                         : row.judged() ? "-"
                                        : "not judged",
                         v.rule.empty() ? "-" : v.rule, one_line(s.name)});
        if (with_own) cells.back().insert(cells.back().begin() + 3, duration_text(row.own()));
    }
    std::vector<bool> right{true, true, true, true, true, false, true, true, false, false, false, false};
    if (with_own) right.insert(right.begin(), true);
    return aligned_table(cells, right);
}

/// Where a text gives no tokens the line is one figure.
std::string roofline_text(const RooflineLine& line) {
    const std::string what = fmt::format("{}{}{}", phase_name(line.phase), line.instance.empty() ? "" : " on ", line.instance);
    if (line.rule == "median")
        return fmt::format("{}: {} is the median of {} steps, too few (or too much of one size) for a line over tokens\n", what,
                           duration_text(static_cast<TimeNs>(line.intercept_ns)), line.steps);
    return fmt::format("{}: {} and {:.1f} us a token, a line through the P99 of {} token counts ({} steps, R2 {:.2f})\n", what,
                       duration_text(static_cast<TimeNs>(line.intercept_ns)), line.slope_ns / 1e3, line.buckets, line.steps, line.r2);
}

/// What the words of the table mean; of those that stand in it.
std::string legend(const std::vector<Row>& rows) {
    const auto any = [&](const auto& is) {
        return std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.verdict && is(*r.verdict); });
    };
    std::string text;
    if (overlap(rows))
        text +=
            "steps overlap since the host runs ahead of the device: own is the time after the end of the step before, and what is judged\n";
    if (any([](const StepVerdict& v) { return v.rule.starts_with("p99-ransac"); }))
        text += "rule p99-ransac: expected comes from a line over tokens through the slowest usual steps of each size\n";
    if (any([](const StepVerdict& v) { return v.rule.starts_with("median"); }))
        text += "rule median: expected is the middle of the steps with about as much work\n";
    if (any([](const StepVerdict& v) { return v.rule.starts_with("idle"); }))
        text += "rule idle: too few steps like it, but its device was idle three times as long as in any other step\n";
    if (any([](const StepVerdict& v) { return v.outlier && (v.reasons & reason_structure) != 0; }))
        text += "structure: it ran other kernels, or launched them otherwise, than the steps like it\n";
    if (any([](const StepVerdict& v) { return v.outlier && (v.reasons & reason_contradiction) != 0; }))
        text += "contradiction: its name, its calls and its kernels say different things\n";
    if (any([](const StepVerdict& v) { return v.outlier && (v.reasons & reason_slo) != 0; }))
        text += "slo: a request waited longer for a token than the limit\n";
    if (any([](const StepVerdict& v) { return v.bound == StepBound::balanced; }))
        text += "bound balanced: no one of host, device and communication takes most of its time\n";
    return text;
}

/// "6 of 60 steps are not judged: too few prefill and mixed steps".
std::string not_judged_text(const std::vector<Row>& rows) {
    std::size_t count = 0;
    std::array<bool, 4> phases{};
    for (const Row& row : rows) {
        if (row.judged()) continue;
        ++count;
        phases[static_cast<std::size_t>(row.step->phase)] = true;
    }
    if (count == 0) return {};
    std::vector<std::string> words;
    for (const StepPhase phase : {StepPhase::prefill, StepPhase::decode, StepPhase::mixed})
        if (phases[static_cast<std::size_t>(phase)]) words.emplace_back(phase_name(phase));
    if (phases[static_cast<std::size_t>(StepPhase::other)]) words.emplace_back(words.empty() ? "like" : "other");
    std::string named = words.front();
    for (std::size_t i = 1; i < words.size(); ++i) named += (i + 1 == words.size() ? " and " : ", ") + words[i];
    return fmt::format("{} of {} steps {} not judged: too few {} steps\n", count, rows.size(), count == 1 ? "is" : "are", named);
}

void describe(const CommandIo& io, const AnalysedCapture& capture, const StepsOptions& options, const std::vector<Row>& rows) {
    if (const auto log_only = log_only_text(capture); log_only && capture.steps.empty()) return print_text(io, *log_only);
    if (capture.steps.empty())
        return print_text(io, "no steps in this capture: no text names them and nothing repeats; switch on the engine's annotations\n");
    const auto outliers = std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.outlier(); });
    for (const Row& row : rows)
        if (row.outlier())
            print_text(io, one_line(fmt::format("{} {} at {}: {}", row.step->kind == StepKind::stall ? "stall" : "step",
                                                index_of(row.step->id), time_text(row.step->start), row.verdict->sentence)) +
                               "\n");
    if (outliers > 0) print_text(io, "\n");
    if (!rows.empty()) print_text(io, table(rows) + "\n");
    for (const RooflineLine& line : capture.rooflines)
        if (!options.instance || line.instance == *options.instance) print_text(io, "expected of " + roofline_text(line));
    if (!rows.empty()) print_text(io, legend(rows));
    if (!options.outliers) print_text(io, not_judged_text(rows));
    print_text(io,
               fmt::format("{} of {} steps {} out of line\n", outliers,
                           options.outliers ? static_cast<std::ptrdiff_t>(capture.steps.size()) : static_cast<std::ptrdiff_t>(rows.size()),
                           outliers == 1 ? "is" : "are"));
}

int run_steps(const StepsOptions& options, const CommandIo& io) {
    const Result<AnalysedCapture> capture = open_analysed_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const bool known = std::any_of(capture->steps.begin(), capture->steps.end(),
                                   [&](const Step& s) { return !options.instance || s.instance == *options.instance; });
    if (options.instance && !known)
        return report_failure(io, {ErrorCode::wrong_usage, fmt::format("no step ran on an instance named {}", *options.instance),
                                   "The JSON answer names the instance of each step"});
    const std::vector<Row> rows = rows_of(*capture, options);
    if (options.json) {
        Json answer = Json::array();
        for (const Row& row : rows) answer.push_back(json_of(row));
        print_json(io, answer);
    } else {
        describe(io, *capture, options, rows);
    }
    if (const int status = finish_output(io); status != 0) return status;
    return options.fail_on_fault && std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.outlier(); }) ? 1 : 0;
}

}  // namespace

void add_steps_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand(
        "steps", "The steps, worst first: how long each should have lasted, which are out of line and why, and what bounds them");
    command->footer(
        "Order: stalls, steps out of line by ratio, the others by ratio, steps that are not judged.\n"
        "own            time after the end of the step before it; less than its duration where steps overlap. What is judged.\n"
        "p99-ransac     expected is a line over tokens through the slowest usual steps of each size.\n"
        "median         expected is the middle of the steps with about as much work.\n"
        "idle against   too few steps like it; its device was idle three times as long as in any other step.\n"
        "collectives    against: too few steps like it; its collectives took three times as long a token as in any of them.\n"
        "structure      it ran other kernels, or launched them otherwise, than the steps like it.\n"
        "contradiction  its name, its calls and its kernels say different things.\n"
        "slo            a request waited longer for a token than the limit.\n"
        "balanced       no one of host, device and communication takes most of its time.");
    const auto options = std::make_shared<StepsOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_flag("--outliers", options->outliers, "Only the steps that are out of line, and stalls");
    command->add_option("--instance", options->instance, "Only the steps of this engine instance")->type_name("ID");
    command->add_flag("--fail-on-fault", options->fail_on_fault, "End with status 1 where a step is out of line");
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_steps(*options, io); }; });
}

}  // namespace faultline
