#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/capture_logs.h"
#include "app/commands/command.h"
#include "core/call_chain.h"
#include "core/layer_rules.h"
#include "core/request_projection.h"
#include "core/span_table_store.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct ChainCommandOptions {
    std::string capture;
    std::int64_t step = 0;
    std::optional<std::string> request;
    ChainOptions chain;
    bool json = false;
};

/// The lane of a node as CONTRACT.md names it; empty where it has none.
struct NodePlace {
    std::optional<std::string> thread;
    std::optional<std::int64_t> device, stream;
};

NodePlace place_of(const CaptureReader& capture, TrackId id) {
    NodePlace place;
    const Track* const track = capture.track(id);
    if (!track) return place;
    if (const Thread* thread = track->thread ? capture.thread(*track->thread) : nullptr) place.thread = display_name(*thread);
    if (const Device* device = track->device ? capture.device(*track->device) : nullptr) place.device = device->ordinal;
    place.stream = track->stream;
    return place;
}

std::optional<SpanId> parent_of(const CallChain& chain, const ChainNode& node) {
    if (node.parent < 0) return std::nullopt;
    return chain.nodes[static_cast<std::size_t>(node.parent)].span;
}

/// What is shown: the tree, of one request where it was asked for, and the log lines that belong to it.
struct ShownChain {
    CallChain chain;
    std::optional<std::string> request;
    CaptureLogs capture_logs;  ///< what `logs` points into
    std::vector<ShownLine> logs;
};

Json chain_json(const CaptureReader& capture, const ShownChain& shown) {
    const CallChain& chain = shown.chain;
    Json nodes = Json::array();
    for (const ChainNode& node : chain.nodes) {
        const std::optional<SpanId> parent = parent_of(chain, node);
        const NodePlace place = place_of(capture, node.track);
        const std::string_view layer = layer_class_name(node.layer);
        nodes.push_back(Json{{"id", node.span.value},
                             {"parent", parent ? Json(parent->value) : Json(nullptr)},
                             {"layer", layer.empty() ? Json(nullptr) : Json(layer)},
                             {"name", capture.name(node.name)},
                             {"start_ns", node.start},
                             {"duration_ns", node.duration},
                             {"thread", place.thread ? Json(*place.thread) : Json(nullptr)},
                             {"device", json_or_null(place.device)},
                             {"stream", json_or_null(place.stream)},
                             {"correlation", json_or_null(node.correlation)}});
    }
    return {{"step", index_of(chain.step.id)},
            {"request", shown.request ? Json(*shown.request) : Json(nullptr)},
            {"nodes", nodes},
            {"logs", json_of(shown.logs)}};
}

std::string step_line(const Step& step) {
    std::string line =
        fmt::format("step {}: {} ({}), {}", index_of(step.id), step.name, phase_name(step.phase), duration_text(step.end - step.start));
    if (step.host_ns > 0) line += fmt::format(", host side {}", duration_text(step.host_ns));
    if (step.tokens) line += fmt::format(", {} tokens", *step.tokens);
    if (step.batch) line += fmt::format(", {} requests", *step.batch);
    if (step.inferred) line += ", inferred";
    return line + "\n";
}

void describe(const CommandIo& io, const CaptureReader& capture, const ShownChain& shown) {
    const CallChain& chain = shown.chain;
    print_text(io, step_line(chain.step));
    if (shown.request) print_text(io, fmt::format("as request {} sees it\n", *shown.request));
    std::vector<std::size_t> depths(chain.nodes.size(), 0);
    for (std::size_t i = 0; i < chain.nodes.size(); ++i) {
        const ChainNode& node = chain.nodes[i];
        if (node.parent >= 0) depths[i] = depths[static_cast<std::size_t>(node.parent)] + 1;
        const NodePlace place = place_of(capture, node.track);
        const std::string where =
            place.device ? fmt::format(" on device {}{}", *place.device, place.stream ? fmt::format(" stream {}", *place.stream) : "") : "";
        const std::string_view layer = layer_class_name(node.layer);
        print_text(io, fmt::format("{}{} [{}] at {} for {}{}\n", std::string(2 * (depths[i] + 1), ' '), capture.name(node.name),
                                   layer.empty() ? kind_name(node.kind) : layer, node.start, duration_text(node.duration), where));
    }
    if (!shown.logs.empty())
        print_text(io, fmt::format("{} log {}\n{}", shown.logs.size(), shown.logs.size() == 1 ? "line" : "lines", table_of(shown.logs, MessageText::cut, 2)));
}

Result<ShownChain> read_chain(const CaptureReader& capture, const ChainCommandOptions& options) {
    const LayerRules layers = LayerRules::built_in();
    Result<CallChain> chain = step_chain(capture, layers, StepId{options.step}, options.chain);
    if (!chain) return tl::unexpected<Error>(chain.error());
    Result<CaptureLogs> logs = read_capture_logs(capture);
    if (!logs) return tl::unexpected<Error>(logs.error());
    const auto request = asked_request(*logs, options.request);
    if (!request) return tl::unexpected<Error>(request.error());
    ShownChain shown;
    if (*request) {
        chain = project_chain(*chain, logs->requests[**request], logs->mentions);
        if (!chain) return tl::unexpected<Error>(chain.error());
        shown.request = logs->requests[**request].name;
    }
    shown.logs = lines_of(*logs, chain->step, *request);
    shown.chain = std::move(*chain);
    shown.capture_logs = std::move(*logs);  // the lines stay where they are
    return shown;
}

int run_chain(const ChainCommandOptions& options, const CommandIo& io) {
    const auto capture = open_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto chain = read_chain(**capture, options);
    if (!chain) return report_failure(io, chain.error());
    if (options.json)
        print_json(io, chain_json(**capture, *chain));
    else
        describe(io, **capture, *chain);
    return finish_output(io);
}

}  // namespace

void add_chain_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command =
        program.add_subcommand("chain", "The call-chain tree of a step: ranges, operators, calls and the device work under them");
    const auto options = std::make_shared<ChainCommandOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_option("--step", options->step, "The id of the step (see: steps CAPTURE)")
        ->type_name("ID")
        ->check(check_whole_number)
        ->required();
    command
        ->add_option("--request", options->request,
                     "The tree and the log lines as this request sees them: without what belongs to others only")
        ->type_name("RID");
    command->add_flag("--python", options->chain.python, "Keep Python frames");
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_chain(*options, io); }; });
}

}  // namespace faultline
