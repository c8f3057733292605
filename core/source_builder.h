// What an importer fills: the processes, threads, devices, tracks and spans of one source, before chains and steps are built.
//
// An importer appends spans in any order and sets their columns; build_source() (core/build_source.h) then sorts, nests, binds,
// recognises steps and writes. Ids are unique in the capture. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/columns.h"
#include "core/interned_texts.h"
#include "core/log_line.h"
#include "core/model.h"
#include "core/request.h"
#include "core/stack_sample.h"
#include "core/track_buffer.h"

namespace faultline {

/// A link between two host spans by time and place (fwdbwd): resolved to the innermost span of the thread that holds the time.
struct HostLink {
    ThreadId from_thread{}, to_thread{};
    TimeNs from_time = 0, to_time = 0;
};

/// What is known when a source is read, beside its own bytes: what its clock can be compared with. Filled by import_capture().
struct ImportContext {
    std::string time_zone;                           ///< --time-zone as given: "+08:00", "UTC" or a name of the tz database; else empty
    std::optional<TimeRange> wall;                   ///< stretch of wall clock (epoch ns) that the sources so far cover
    std::optional<std::int64_t> utc_offset_seconds;  ///< local time minus UTC where a source so far says so (FORMATS §1.2)
    std::optional<std::int64_t> modified_wall_ns;    ///< when the file was last changed (epoch ns); absent for standard input
};

class SourceBuilder {
public:
    /// `names` and `texts` are shared by all sources of a capture and outlive the builder.
    /// The ids that the builder gives out start at the given numbers.
    struct FirstIds {
        std::uint32_t process = 0, thread = 0, device = 0, track = 0;
    };
    SourceBuilder(SourceId id, FirstIds first, InternedNames& names, InternedTexts& texts);

    Source source;                   ///< rank, host, producer, metadata: filled by the importer
    std::int64_t clock_base_ns = 0;  ///< wall clock (epoch ns) of zero of the source's clock; may be set last
    bool has_wall_clock = true;      ///< false: clock_base_ns is meaningless (times since some start)
    std::vector<HealthFinding> health;
    std::vector<HostLink> host_links;
    std::vector<LogLine> logs;               ///< in the order of the source; ids are given when they are written
    std::vector<RequestMention> mentions;    ///< of spans and logs; filled by build_source()
    std::vector<StackSample> stack_samples;  ///< in the order of the source
    ImportContext context;
    std::int64_t clock_uncertainty_ns = 0;           ///< of its clock against the wall clock
    std::string clock_rule;                          ///< where its wall clock came from, in words
    std::optional<std::int64_t> utc_offset_seconds;  ///< local time minus UTC on its host, where it says so
    std::int64_t clock_shift_ns = 0;                 ///< asked for on import (--clock-offset-ns): added to all of its times

    NameId name(std::string_view text) { return names_.intern(text); }
    TextId text(std::string_view text) { return texts_.intern(text); }
    [[nodiscard]] const InternedNames& names() const noexcept { return names_; }
    /// Argument texts that may name requests, so far (see InternedTexts::watched).
    [[nodiscard]] const std::vector<InternedTexts::Watched>& watched_texts() const noexcept { return texts_.watched(); }

    /// Finds or makes. A process is known by its number, or by its text where the source uses words (then pid is 0).
    ProcessId process(std::int64_t pid, std::string_view pid_text = {});
    ThreadId thread(ProcessId process, std::int64_t tid, std::string_view tid_text = {});
    DeviceId device(std::int64_t ordinal);
    [[nodiscard]] Process& process_row(ProcessId id);
    [[nodiscard]] Thread& thread_row(ThreadId id);
    [[nodiscard]] Device& device_row(DeviceId id);

    /// Finds or makes the track; references stay valid.
    TrackBuffer& host_track(ThreadId thread, int part = 0);
    TrackBuffer& device_track(DeviceId device, std::int64_t stream, std::optional<ProcessId> process = {});
    TrackBuffer& device_range_track(DeviceId device, std::int64_t stream, std::optional<ProcessId> process = {});
    TrackBuffer& counter_track(std::optional<ProcessId> process, std::string_view name);
    TrackBuffer& marks_track(std::optional<ProcessId> process, std::string_view name);
    /// A further lane beside `of`, for spans that cross; made by build_source().
    TrackBuffer& sub_lane(const TrackBuffer& of, int lane);

    [[nodiscard]] std::deque<TrackBuffer>& tracks() noexcept { return tracks_; }
    [[nodiscard]] const std::deque<TrackBuffer>& tracks() const noexcept { return tracks_; }
    [[nodiscard]] const std::vector<Process>& processes() const noexcept { return processes_; }
    [[nodiscard]] const std::vector<Thread>& threads() const noexcept { return threads_; }
    [[nodiscard]] const std::vector<Device>& devices() const noexcept { return devices_; }
    [[nodiscard]] std::uint64_t span_count() const noexcept;

private:
    TrackBuffer& find_track(std::string key, TrackKind kind);

    FirstIds first_;
    InternedNames& names_;
    InternedTexts& texts_;
    std::vector<Process> processes_;
    std::vector<Thread> threads_;
    std::vector<Device> devices_;
    std::deque<TrackBuffer> tracks_;
    std::unordered_map<std::string, std::uint32_t> keys_;  ///< identity of a process, thread, device or track → index
};

}  // namespace faultline
