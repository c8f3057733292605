#include "importers/nsys/counters.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <utility>

#include "importers/nsys/enum_names.h"

namespace faultline::nsys {

namespace {

using MetricKey = std::pair<std::int64_t, std::int64_t>;  ///< type and metric, which mean the same only inside one export

std::map<MetricKey, std::string> metric_names(Session& s) {
    std::map<MetricKey, std::string> names;
    TableScan row = s.names_of("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"});
    while (row.next()) {
        s.ledger.add_metadata();
        const std::string_view text = row.text(2);
        names[{row.integer_or_zero(0), row.integer_or_zero(1)}] = repaired_text(text).value_or(std::string(text));
    }
    return names;
}

}  // namespace

void read_device_metrics(Session& session) {
    enum { time, type, metric, value };
    const std::map<MetricKey, std::string> names = metric_names(session);
    std::map<MetricKey, TrackBuffer*> tracks;
    TableScan row = session.rows_of("GPU_METRICS", {"timestamp", "typeId", "metricId", "value"});
    while (row.next()) {
        const std::optional<TimeRange> at = session.interval(row, time, time);
        if (!at) continue;
        const MetricKey key{row.integer_or_zero(type), row.integer_or_zero(metric)};
        TrackBuffer*& track = tracks[key];
        if (track == nullptr) {
            const auto named = names.find(key);
            constexpr std::int64_t kDeviceBits = 0xFF;
            track = &session.source.counter_track(std::nullopt,
                                                  fmt::format("GPU {}: {}", key.first & kDeviceBits,
                                                              named == names.end() ? fmt::format("metric {}", key.second) : named->second));
        }
        const std::uint32_t position = session.append(*track, row, *at, session.source.name(track->track.name), SpanKind::counter);
        track->set(position, Column::value, std::bit_cast<std::int64_t>(row.real(value)));
    }
}

void read_memory_events(Session& session) {
    enum { time, process, device, context, address, bytes, kind, operation, correlation };
    constexpr std::int64_t kFree = 1;
    TableScan row = session.rows_of("CUDA_GPU_MEMORY_USAGE_EVENTS", {"start", "globalPid", "deviceId", "contextId", "address", "bytes",
                                                                     "memKind", "memoryOperationType", "correlationId"});
    while (row.next()) {
        const std::optional<TimeRange> at = session.interval(row, time, time);
        if (!at) continue;
        const bool freed = row.integer_or_zero(operation) == kFree;
        TrackBuffer& track = session.source.marks_track(session.places.process(row.integer(process)),
                                                        fmt::format("memory of GPU {}", row.integer_or_zero(device)));
        const NameId name =
            session.source.name(fmt::format("{} {}", freed ? "Free" : "Allocate", memory_kind_name(row.integer_or_zero(kind))));
        const std::uint32_t position = session.append(track, row, *at, name, SpanKind::memory_event);
        if (const std::int64_t size = row.integer(bytes); size != kNull) track.set(position, Column::bytes, freed ? -size : size);
        set_if(track, position, Column::address, row.integer(address));
        set_if(track, position, Column::context, row.integer(context));
        set_if(track, position, Column::correlation, row.integer(correlation));
    }
}

}  // namespace faultline::nsys
