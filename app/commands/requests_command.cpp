#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"
#include "core/request.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct RequestsOptions {
    std::string capture;
    bool json = false;
};

Json requests_json(const std::vector<Request>& requests) {
    Json rows = Json::array();
    for (const Request& r : requests) {
        Json steps = Json::array();
        for (const StepId step : r.steps) steps.push_back(index_of(step));
        rows.push_back(Json{{"id", r.name},
                            {"arrival_ns", json_or_null(r.arrival)},
                            {"first_token_ns", json_or_null(r.first_token)},
                            {"end_ns", json_or_null(r.end)},
                            {"ttft_ns", json_or_null(r.ttft_ns)},
                            {"tpot_ns", json_or_null(r.tpot_ns)},
                            {"steps", steps},
                            {"instances", r.instances},
                            {"prompt_tokens", json_or_null(r.prompt_tokens)},
                            {"output_tokens", json_or_null(r.output_tokens)},
                            {"aborted", r.aborted},
                            {"timing_rule", r.timing_rule}});
    }
    return rows;
}

/// `1 to 40`, `3, 7`, `40 steps, first 3`: what fits into a column.
std::string steps_text(const Request& r) {
    constexpr std::size_t kListed = 4;
    if (r.steps.empty()) return "-";
    if (r.steps.size() > kListed)
        return fmt::format("{} from {} to {}", r.steps.size(), index_of(r.steps.front()), index_of(r.steps.back()));
    std::vector<std::int64_t> ids;
    for (const StepId step : r.steps) ids.push_back(index_of(step));
    return fmt::format("{}", fmt::join(ids, ", "));
}

void describe(const CommandIo& io, const std::vector<Request>& requests) {
    if (requests.empty())
        return print_text(
            io,
            "no request ids in this capture: vLLM writes them to its log with --enable-log-requests, SGLang with --log-requests; "
            "add that log with `faultline import --append -o CAPTURE --log FILE`\n");
    std::vector<std::vector<std::string>> rows{
        {"request", "arrival", "first token", "end", "TTFT", "TPOT", "prompt", "output", "steps", "instances"}};
    const auto at = [](std::optional<TimeNs> t) { return t ? time_text(*t) : "-"; };
    const auto length = [](std::optional<TimeNs> t) { return t ? duration_text(*t) : "-"; };
    const auto count = [](std::optional<std::int64_t> n) { return n ? fmt::format("{}", *n) : "-"; };
    for (const Request& r : requests)
        rows.push_back({r.name, at(r.arrival), at(r.first_token), at(r.end) + (r.aborted ? " (aborted)" : ""), length(r.ttft_ns),
                        length(r.tpot_ns), count(r.prompt_tokens), count(r.output_tokens), steps_text(r),
                        r.instances.empty() ? "-" : fmt::format("{}", fmt::join(r.instances, ", "))});
    print_text(io, aligned_table(rows, {false, true, true, true, true, true, true, true, false, false}));
    print_text(io, "where each figure comes from stands in the field timing_rule of --json\n");
}

int run_requests(const RequestsOptions& options, const CommandIo& io) {
    const auto capture = open_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto requests = (*capture)->requests();
    if (!requests) return report_failure(io, requests.error());
    if (options.json)
        print_json(io, requests_json(*requests));
    else
        describe(io, *requests);
    return finish_output(io);
}

}  // namespace

void add_requests_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand(
        "requests",
        "The requests that ranges and log lines name: arrival, first token, end, TTFT, TPOT, steps; \"-\" where it is not known");
    const auto options = std::make_shared<RequestsOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_requests(*options, io); }; });
}

}  // namespace faultline
