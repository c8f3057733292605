#include "importers/nsys/api_calls.h"

#include <vector>

namespace faultline::nsys {

namespace {

/// Whether a call starts a whole graph, asked once for each name.
class GraphLaunchNames {
public:
    [[nodiscard]] bool is(const SourceBuilder& source, NameId name) {
        const std::size_t at = index_of(name);
        if (at >= known_.size()) known_.resize(at + 1, kAsk);
        if (known_[at] == kAsk) {
            const std::string_view text = source.names().text(name);
            known_[at] = text.starts_with("cudaGraphLaunch") || text.starts_with("cuGraphLaunch") ? 1 : 0;
        }
        return known_[at] == 1;
    }

private:
    static constexpr signed char kAsk = -1;
    std::vector<signed char> known_;
};

void read_calls_of(Session& s, std::string_view table, bool driver_table, CallTimes& times) {
    enum { start, end, event_class, thread, correlation, name, result };
    constexpr std::int64_t kDriverClass = 1;
    GraphLaunchNames graph_launches;
    TableScan row = s.rows_of(table, {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        const std::int64_t global_tid = row.integer(thread);
        const std::int64_t id = row.integer(correlation);
        const bool driver = driver_table || row.integer_or_zero(event_class) == kDriverClass;
        TrackBuffer& track = *s.places.host(global_tid).track;
        const NameId called = s.strings.call_name(row.integer(name));
        const std::uint32_t position = s.append(track, row, *at, called, driver ? SpanKind::driver_call : SpanKind::runtime_call);
        set_if(track, position, Column::correlation, id);
        set_if(track, position, Column::result, row.integer(result));
        if (graph_launches.is(s.source, called)) s.graph_launches.ask(global_tid, id);
        times.tell(global_tid, id, at->start);
    }
}

/// Tables of plain calls: a start, an end, a thread and a name.
void read_plain_calls(Session& s, std::string_view table, SpanKind kind) {
    enum { start, end, thread, name, result };
    TableScan row = s.rows_of(table, {"start", "end", "globalTid", "nameId", "returnValue"});
    while (row.next()) {
        const std::optional<TimeRange> at = s.interval(row, start, end);
        if (!at) continue;
        TrackBuffer& track = *s.places.host(row.integer(thread)).track;
        const std::uint32_t position = s.append(track, row, *at, s.strings.call_name(row.integer(name)), kind);
        set_if(track, position, Column::result, row.integer(result));
    }
}

TrackBuffer& marks_of(Session& s, std::int64_t global_tid, std::string_view name) {
    return s.source.marks_track(s.places.process(global_tid), name);
}

}  // namespace

void read_api_calls(Session& session, CallTimes& times) {
    read_calls_of(session, "CUPTI_ACTIVITY_KIND_RUNTIME", false, times);
    read_calls_of(session, "CUPTI_ACTIVITY_KIND_DRIVER", true, times);
}

void read_library_calls(Session& session) {
    read_plain_calls(session, "CUDNN_EVENTS", SpanKind::op);
    read_plain_calls(session, "CUBLAS_EVENTS", SpanKind::op);
}

void read_os_calls(Session& session) {
    read_plain_calls(session, "OSRT_API", SpanKind::os_call);
    read_plain_calls(session, "SYSCALL", SpanKind::os_call);
}

void read_overhead(Session& session) {
    enum { start, end, thread, name, correlation };
    for (const std::string_view table : {"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"}) {
        TableScan row = session.rows_of(table, {"start", "end", "globalTid", "nameId", "correlationId"});
        while (row.next()) {
            const std::optional<TimeRange> at = session.interval(row, start, end);
            if (!at) continue;
            const NameId said = row.is_null(name) ? session.source.name("profiler overhead") : session.strings.name(row.integer(name));
            session.append(marks_of(session, row.integer(thread), "profiler overhead"), row, *at, said, SpanKind::overhead);
        }
    }
}

void read_graph_building(Session& session) {
    enum { start, end, thread, name, node, graph };
    for (const std::string_view table : {"CUDA_GRAPH_EVENTS", "CUDA_GRAPH_NODE_EVENTS"}) {
        TableScan row = session.rows_of(table, {"start", "end", "globalTid", "nameId", "graphNodeId", "graphId"});
        while (row.next()) {
            const std::optional<TimeRange> at = session.interval(row, start, end);
            if (!at) continue;
            TrackBuffer& track = marks_of(session, row.integer(thread), "CUDA graph building");
            const std::uint32_t position = session.append(track, row, *at, session.strings.call_name(row.integer(name)), SpanKind::other);
            set_if(track, position, Column::graph_node, row.integer(node));
            set_if(track, position, Column::graph_id, row.integer(graph));
        }
    }
}

}  // namespace faultline::nsys
