#include <date/date.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"
#include "core/span_table_store.h"
#include "core/statistics.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
    std::string capture;
    bool json = false;
};

/// Everything that `info` says, read once.
struct CaptureInfo {
    std::array<std::uint64_t, kSpanKindCount> kinds{};
    std::vector<Step> steps;
    std::uint64_t requests = 0, logs = 0;
    std::vector<HealthFinding> health;
    LedgerTotals ledger;
    std::set<std::string> hosts;
    std::uint64_t spans = 0;
    std::vector<std::pair<std::string, std::uint64_t>> log_levels;
    std::map<std::uint32_t, std::uint64_t> device_spans;
};

Result<CaptureInfo> read_info(const CaptureReader& capture) {
    CaptureInfo info;
    const auto kinds = count_kinds(capture);
    if (!kinds) return tl::unexpected<Error>(kinds.error());
    auto steps = capture.steps();
    if (!steps) return tl::unexpected<Error>(steps.error());
    const auto requests = capture.requests();
    if (!requests) return tl::unexpected<Error>(requests.error());
    const auto levels = capture.log_levels();
    if (!levels) return tl::unexpected<Error>(levels.error());
    info.log_levels = *levels;
    for (const auto& [level, count] : *levels) info.logs += count;
    for (const Track& track : capture.tracks())
        if (track.device) info.device_spans[index_of(*track.device)] += track.spans;
    auto health = capture.health();
    if (!health) return tl::unexpected<Error>(health.error());
    const auto ledgers = capture.ledger();
    if (!ledgers) return tl::unexpected<Error>(ledgers.error());
    info.kinds = *kinds;
    info.steps = std::move(*steps);
    info.requests = requests->size();
    info.health = std::move(*health);
    for (const SourceLedger& ledger : *ledgers) {
        info.ledger.read += ledger.totals.read;
        info.ledger.repaired += ledger.totals.repaired;
        info.ledger.dropped += ledger.totals.dropped;
        info.ledger.metadata += ledger.totals.metadata;
    }
    for (const Source& source : capture.sources()) {
        if (!source.host.empty()) info.hosts.insert(source.host);
    }
    for (const Track& track : capture.tracks()) info.spans += track.spans;
    return info;
}

std::optional<std::string> wall_text(const CaptureReader& capture) {
    const std::optional<std::int64_t> zero = capture.zero_wall_ns();
    if (!zero) return std::nullopt;
    return date::format("%Y-%m-%dT%H:%M:%SZ", date::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(*zero)));
}

Json sources_json(const CaptureReader& capture) {
    Json rows = Json::array();
    for (const Source& source : capture.sources())
        rows.push_back(Json{{"id", index_of(source.id)},
                            {"path", source.path},
                            {"format", source.format},
                            {"producer", source.producer},
                            {"host", source.host},
                            {"rank", json_or_null(source.rank)},
                            {"rank_rule", source.rank_rule},
                            {"world_size", json_or_null(source.world_size)},
                            {"bytes", source.bytes},
                            {"events", source.events},
                            {"clock_offset_ns", source.clock_offset_ns},
                            {"clock_uncertainty_ns", source.clock_uncertainty_ns},
                            {"clock_rule", source.clock_rule}});
    return rows;
}

std::uint64_t spans_of(const CaptureInfo& info, const Device& device) {
    const auto found = info.device_spans.find(index_of(device.id));
    return found == info.device_spans.end() ? 0 : found->second;
}

Json info_json(const CaptureReader& capture, const CaptureInfo& info) {
    Json processes = Json::array();
    for (const Process& process : capture.processes())
        processes.push_back(Json{{"id", index_of(process.id)},
                                 {"source", index_of(process.source)},
                                 {"pid", process.pid},
                                 {"name", display_name(process)},
                                 {"labels", process.labels},
                                 {"rank", json_or_null(process.rank)}});
    Json devices = Json::array();
    for (const Device& device : capture.devices())
        devices.push_back(Json{{"id", index_of(device.id)},
                               {"source", index_of(device.source)},
                               {"device", device.ordinal},
                               {"name", device.name},
                               {"spans", spans_of(info, device)}});
    Json levels = Json::object();
    for (const auto& [level, count] : info.log_levels) levels[level.empty() ? "none" : level] = count;
    Json kinds = Json::object();
    for (int kind = 0; kind < kSpanKindCount; ++kind) {
        const std::uint64_t count = info.kinds[static_cast<std::size_t>(kind)];
        if (count > 0) kinds[std::string(kind_name(static_cast<SpanKind>(kind)))] = count;
    }
    const std::optional<std::string> wall = wall_text(capture);
    return {{"capture", capture.path()},
            {"zero_wall_ns", json_or_null(capture.zero_wall_ns())},
            {"zero_wall", wall ? Json(*wall) : Json(nullptr)},
            {"start_ns", capture.extent().start},
            {"end_ns", capture.extent().end},
            {"sources", sources_json(capture)},
            {"hosts", info.hosts},
            {"processes", processes},
            {"threads", capture.threads().size()},
            {"devices", devices},
            {"tracks", capture.tracks().size()},
            {"spans", info.spans},
            {"kinds", kinds},
            {"steps", info.steps.size()},
            {"requests", info.requests},
            {"logs", info.logs},
            {"log_levels", levels},
            {"ledger", json_of(info.ledger)},
            {"health", json_of(info.health)}};
}

void describe(const CommandIo& io, const CaptureReader& capture, const CaptureInfo& info) {
    const std::optional<std::string> wall = wall_text(capture);
    print_text(io, fmt::format("{}\n  covers {}, from {} ns to {} ns; zero is {}\n", capture.path(), duration_text(capture.extent().duration()),
                          capture.extent().start, capture.extent().end, wall.value_or("not tied to a wall clock")));
    for (const Source& source : capture.sources())
        print_text(io,
              fmt::format("source {}: {} ({}, {} events{}{})\n{}", index_of(source.id), source.path, source.format, grouped(source.events),
                          source.rank ? fmt::format(", rank {}", *source.rank) : "", source.host.empty() ? "" : ", host " + source.host,
                          source.clock_rule.empty() ? "" : "  clock: " + source.clock_rule + "\n"));
    for (const Process& process : capture.processes())
        print_text(io, fmt::format("process {}{}\n", display_name(process), process.labels.empty() ? "" : ": " + process.labels));
    std::size_t unused = 0;
    for (const Device& device : capture.devices()) {
        const std::uint64_t spans = spans_of(info, device);
        if (spans == 0)
            ++unused;
        else
            print_text(io, fmt::format("device {}: {}, {} spans\n", device.ordinal, device.name.empty() ? "unknown" : device.name, grouped(spans)));
    }
    if (unused > 0) print_text(io, fmt::format("{} more {} named and did nothing\n", unused, unused == 1 ? "device is" : "devices are"));
    std::vector<std::vector<std::string>> rows{{"spans", grouped(info.spans)}};
    for (int kind = 0; kind < kSpanKindCount; ++kind) {
        const std::uint64_t count = info.kinds[static_cast<std::size_t>(kind)];
        if (count > 0) rows.push_back({"  " + std::string(kind_name(static_cast<SpanKind>(kind))), grouped(count)});
    }
    rows.push_back({"steps", grouped(info.steps.size())});
    rows.push_back({"requests", grouped(info.requests)});
    rows.push_back({"log messages", grouped(info.logs)});
    for (const auto& [level, count] : info.log_levels) rows.push_back({"  " + (level.empty() ? "without level" : level), grouped(count)});
    rows.push_back({"records read", grouped(info.ledger.read)});
    rows.push_back({"records repaired", grouped(info.ledger.repaired)});
    rows.push_back({"records dropped", grouped(info.ledger.dropped)});
    print_text(io, aligned_table(rows, {false, true}));
    if (info.health.empty()) print_text(io, "no findings\n");
    for (const HealthFinding& finding : info.health) print_text(io, fmt::format("{}: {}\n", severity_name(finding.severity), finding.sentence));
}

int run_info(const InfoOptions& options, const CommandIo& io) {
    const auto capture = open_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto info = read_info(**capture);
    if (!info) return report_failure(io, info.error());
    if (options.json)
        print_json(io, info_json(**capture, *info));
    else
        describe(io, **capture, *info);
    return finish_output(io);
}

}  // namespace

void add_info_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand("info", "What a capture holds: sources, hosts, processes, devices, counts, findings");
    const auto options = std::make_shared<InfoOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_info(*options, io); }; });
}

}  // namespace faultline
