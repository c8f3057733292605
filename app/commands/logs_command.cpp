#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/capture_logs.h"
#include "app/commands/command.h"

namespace faultline {

namespace {

struct LogsOptions {
    std::string capture;
    std::optional<std::int64_t> step;
    std::optional<std::string> request;
    bool json = false;
};

/// How far the nearest line with a time is from a step, in words; empty where no line has one.
std::string nearest_text(const CaptureLogs& logs, const Step& step) {
    std::optional<TimeNs> before, after;  // the nearest on each side
    for (const LogLine& line : logs.lines) {
        if (!line.time) continue;
        if (*line.time < step.start)
            before = std::min(before.value_or(std::numeric_limits<TimeNs>::max()), step.start - *line.time);
        else
            after = std::min(after.value_or(std::numeric_limits<TimeNs>::max()), *line.time - step.start);
    }
    if (!before && !after) return {};
    const bool is_before = before && (!after || *before < *after);
    return fmt::format("; the nearest was written {} {} its start", duration_text(is_before ? *before : *after),
                       is_before ? "before" : "after");
}

void describe(const CommandIo& io, const CaptureLogs& logs, const std::vector<ShownLine>& shown, const Step* step,
              std::optional<std::size_t> request) {
    if (!shown.empty()) return print_text(io, table_of(shown, io.out_is_terminal ? MessageText::cut : MessageText::whole));
    if (logs.lines.empty())
        return print_text(io, "no log lines in this capture: add a service log with `faultline import --append -o CAPTURE --log FILE`\n");
    const std::string whose = request ? fmt::format("request {}", logs.requests[*request].name) : "";
    const std::string which = step ? fmt::format("step {}{}", index_of(step->id), request ? " and " + whose : "") : whose;
    print_text(io, fmt::format("none of the {} log lines belongs to {}{}\n", grouped(logs.lines.size()), which,
                               step ? nearest_text(logs, *step) : std::string()));
}

int run_logs(const LogsOptions& options, const CommandIo& io) {
    const auto capture = open_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto logs = read_capture_logs(**capture);
    if (!logs) return report_failure(io, logs.error());
    const auto request = asked_request(*logs, options.request);
    if (!request) return report_failure(io, request.error());
    const Step* step = nullptr;
    if (options.step) {
        const auto found = step_by_id(*logs, *options.step);
        if (!found) return report_failure(io, found.error());
        step = *found;
    }
    const std::vector<ShownLine> shown = step ? lines_of(*logs, *step, *request) : *request ? lines_of(*logs, **request) : all_lines(*logs);
    if (options.json)
        print_json(io, json_of(shown));
    else
        describe(io, *logs, shown, step, *request);
    return finish_output(io);
}

}  // namespace

void add_logs_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand(
        "logs", "The log lines of a capture, each with the step it belongs to and how: by a request that it names, or by its time. On a terminal long "
        "messages are cut; into a file or a pipe they are written whole");
    const auto options = std::make_shared<LogsOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_option("--step", options->step, "Only the lines of this step: those that name its requests, and those of its time")
        ->type_name("ID")
        ->check(check_whole_number);
    command->add_option("--request", options->request, "Only the lines of this request, without those that name others")->type_name("RID");
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_logs(*options, io); }; });
}

}  // namespace faultline
