#include "importers/nsys/device_work.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>

#include "importers/nsys/enum_names.h"

namespace faultline::nsys {

namespace {

/// Columns that all tables of device work have, in this order; an enum of each reader goes on after them.
enum { start, end, device, context, stream, correlation, process, first_own };

/// How a kernel was launched, as the arguments of its span; equal launches share one text.
class LaunchShapes {
public:
    static constexpr std::size_t kNumbers = 10;
    using Shape = std::array<std::int64_t, kNumbers>;  ///< registers, grid, block, static, dynamic and local memory

    explicit LaunchShapes(SourceBuilder& source) : source_(source) {}

    [[nodiscard]] std::int64_t text(const Shape& shape) {
        if (shape == last_ && last_id_ != kNull) return last_id_;
        const auto [at, added] = known_.try_emplace(shape, 0);
        if (added) at->second = index_of(source_.text(json(shape)));
        last_ = shape;
        last_id_ = at->second;
        return last_id_;
    }

private:
    struct Hash {
        std::size_t operator()(const Shape& shape) const noexcept {
            constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
            std::uint64_t h = 0;
            for (const std::int64_t n : shape) h = (h ^ static_cast<std::uint64_t>(n)) * kMix ^ (h >> 29);
            return static_cast<std::size_t>(h);
        }
    };

    /// The keys are those of PyTorch traces.
    static std::string json(const Shape& shape) {
        const auto [registers, gx, gy, gz, bx, by, bz, fixed, dynamic, local] = shape;
        std::string out = fmt::format("{{\"registers per thread\":{},\"shared memory\":{}", registers, fixed + dynamic);
        if (local != 0) out += fmt::format(",\"local memory per thread\":{}", local);
        return out + fmt::format(",\"grid\":[{},{},{}],\"block\":[{},{},{}]}}", gx, gy, gz, bx, by, bz);
    }

    SourceBuilder& source_;
    std::unordered_map<Shape, std::int64_t, Hash> known_;
    Shape last_{};
    std::int64_t last_id_ = kNull;
};

/// The row's track of work, or of ranges for rows that are no work.
TrackBuffer& track_of(Session& s, const TableScan& row, bool work) {
    const std::int64_t on = row.integer_or_zero(device);
    const std::int64_t in = row.integer_or_zero(stream);
    const std::int64_t of = row.integer(process);
    return work ? s.places.work(on, in, of) : s.places.device_ranges(on, in, of);
}

std::uint32_t append_device_row(Session& s, TrackBuffer& track, const TableScan& row, TimeRange at, NameId name, SpanKind kind) {
    const std::uint32_t position = s.append(track, row, at, name, kind);
    set_if(track, position, Column::correlation, row.integer(correlation));
    set_if(track, position, Column::context, row.integer(context));
    return position;
}

void read_kernels(Session& s) {
    enum { demangled = first_own, mangled, node, graph, registers, shape_end = registers + LaunchShapes::kNumbers };
    LaunchShapes shapes(s.source);
    const bool has_shape = s.db.has_column("CUPTI_ACTIVITY_KIND_KERNEL", "gridX");
    TableScan row = s.rows_of("CUPTI_ACTIVITY_KIND_KERNEL", {"start",
                                                             "end",
                                                             "deviceId",
                                                             "contextId",
                                                             "streamId",
                                                             "correlationId",
                                                             "globalPid",
                                                             "demangledName|shortName",
                                                             "mangledName",
                                                             "graphNodeId",
                                                             "graphId",
                                                             "registersPerThread",
                                                             "gridX",
                                                             "gridY",
                                                             "gridZ",
                                                             "blockX",
                                                             "blockY",
                                                             "blockZ",
                                                             "staticSharedMemory",
                                                             "dynamicSharedMemory",
                                                             "localMemoryPerThread"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        TrackBuffer& track = track_of(s, row, true);
        const std::int64_t name = row.integer(demangled);
        const std::uint32_t position = append_device_row(s, track, row, *at, s.strings.name(name), SpanKind::kernel);
        if (const std::int64_t id = row.integer(mangled); id != kNull && id != name)
            track.set(position, Column::mangled_name, index_of(s.strings.name(id)));
        if (const std::int64_t id = row.integer(node); id != kNull && id != 0) {
            track.set(position, Column::graph_node, id);
            s.graph_nodes = true;
        }
        set_if(track, position, Column::graph_id, row.integer(graph));
        // Old schemas have no column for the node, but the kernels of a graph share the id of its launch.
        s.graph_nodes = s.graph_nodes || s.graph_launches.asked(row.integer_or_zero(process), row.integer(correlation));
        if (!has_shape) continue;
        LaunchShapes::Shape shape;
        for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = row.integer_or_zero(registers + static_cast<int>(i));
        track.set(position, Column::args, shapes.text(shape));
    }
}

void read_copies(Session& s) {
    enum { bytes = first_own, copy_kind, source_kind, destination_kind, node, source_device, destination_device };
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, NameId> names;
    TableScan row =
        s.rows_of("CUPTI_ACTIVITY_KIND_MEMCPY", {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
                                                 "copyKind", "srcKind", "dstKind", "graphNodeId", "srcDeviceId", "dstDeviceId"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        const std::tuple key{row.integer_or_zero(copy_kind), row.integer(source_kind), row.integer(destination_kind)};
        auto named = names.find(key);
        if (named == names.end()) named = names.emplace(key, s.source.name(std::apply(copy_name, key))).first;
        TrackBuffer& track = track_of(s, row, true);
        const std::uint32_t position = append_device_row(s, track, row, *at, named->second, SpanKind::memory_copy);
        set_if(track, position, Column::bytes, row.integer(bytes));
        if (const std::int64_t id = row.integer(node); id != kNull && id != 0) track.set(position, Column::graph_node, id);
        const std::int64_t from = row.integer(source_device);
        const std::int64_t to = row.integer(destination_device);
        if (from != kNull && to != kNull && from != to)
            track.set(position, Column::args, index_of(s.source.text(fmt::format("{{\"from device\":{},\"to device\":{}}}", from, to))));
    }
}

void read_sets(Session& s) {
    enum { bytes = first_own, memory_kind, node };
    std::map<std::int64_t, NameId> names;
    TableScan row = s.rows_of("CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                                                             "globalPid", "bytes", "memKind", "graphNodeId"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        const std::int64_t kind = row.integer(memory_kind);
        auto named = names.find(kind);
        if (named == names.end()) named = names.emplace(kind, s.source.name(set_name(kind))).first;
        TrackBuffer& track = track_of(s, row, true);
        const std::uint32_t position = append_device_row(s, track, row, *at, named->second, SpanKind::memory_set);
        set_if(track, position, Column::bytes, row.integer(bytes));
        if (const std::int64_t id = row.integer(node); id != kNull && id != 0) track.set(position, Column::graph_node, id);
    }
}

void read_graphs(Session& s) {
    enum { graph = first_own, executable };
    TableScan row = s.rows_of("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                                                                  "globalPid", "graphId", "graphExecId"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        ++s.graph_rows;
        const std::int64_t id = row.integer(graph);
        const NameId name = s.source.name(id == kNull ? std::string("CUDA graph") : fmt::format("CUDA graph {}", id));
        TrackBuffer& track = track_of(s, row, true);
        const std::uint32_t position = append_device_row(s, track, row, *at, name, SpanKind::graph);
        set_if(track, position, Column::graph_id, id);
    }
}

void read_waits(Session& s) {
    enum { sync_type = first_own, event };
    constexpr std::int64_t kNoEvent = 0xFFFFFFFF;
    TableScan row = s.rows_of("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                              {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType", "eventId"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        const std::int64_t type = row.integer(sync_type);
        TrackBuffer& track = track_of(s, row, false);
        const std::uint32_t position = append_device_row(s, track, row, *at, s.source.name(sync_name(type)), SpanKind::sync);
        set_if(track, position, Column::sync_type, type);
        if (const std::int64_t id = row.integer(event); id != kNull && id != kNoEvent) track.set(position, Column::event_id, id);
    }
}

}  // namespace

void read_device_work(Session& session) {
    read_kernels(session);
    read_copies(session);
    read_sets(session);
    read_graphs(session);
    read_waits(session);
}

void ask_for_event_times(Session& session, CallTimes& times) {
    TableScan row =
        session.rows_of("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"globalPid", "correlationId"}, {{}, {}, TableScan::Losses::elsewhere});
    while (row.next())
        if (!row.is_null(1)) times.ask(row.integer(0), row.integer(1));
}

void read_cuda_events(Session& session, const CallTimes& times) {
    enum { timestamp, unused, device_, context_, stream_, correlation_, process_, event };
    static_assert(static_cast<int>(device_) == device && static_cast<int>(process_) == process);
    TableScan row = session.rows_of("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                    {"timestamp", "start", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId"});
    while (row.next()) {
        TimeNs at = row.integer_or_zero(timestamp);  // of the device; 0 where it was not collected
        if (at == 0) at = times.start(row.integer(process), row.integer(correlation));
        const bool timed = at != kNull;
        if (timed && !Session::usable_time(at)) {
            session.drop_without_time(row);
            continue;
        }
        if (!timed) at = 0;
        TrackBuffer& track = track_of(session, row, false);
        const std::uint32_t position = append_device_row(session, track, row, {at, at}, session.source.name("CUDA event"), SpanKind::sync);
        set_if(track, position, Column::event_id, row.integer(event));
        if (timed) continue;
        track.add_flag(position, flag_no_time);
        session.ledger.repaired("nsys.event-without-call",
                                "A CUDA event has no time and its call is not in the capture; it is kept at the start of its stream",
                                row.place());
    }
}

}  // namespace faultline::nsys
