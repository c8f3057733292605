// The API calls of a source that started device work: how much, and whether it copied to the host. Used by find_steps().
#pragma once

#include <cstdint>
#include <vector>

#include "core/source_builder.h"
#include "core/step_texts.h"

namespace faultline {

/// What one API call launched.
struct LaunchedWork {
    std::uint16_t kernels = 0;  ///< stops at 65,535
    bool any = false;           ///< kernels, copies or sets
    bool copies_out = false;    ///< a copy from the device to the host
};

/// An API call that launched something, in the order of its thread.
struct LaunchCall {
    SpanPlace place;
    TimeNs start = 0, end = 0;  ///< source clock
    LaunchedWork work;
};

/// Finds tracks by id and counts what each call launched, from the `launch` column of the device spans.
class LaunchTable {
public:
    explicit LaunchTable(const SourceBuilder& source);

    /// Position of a track in SourceBuilder::tracks(); kNone for a track of another source.
    static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
    [[nodiscard]] std::uint32_t position(TrackId id) const noexcept;
    [[nodiscard]] LaunchedWork of(SpanPlace call) const noexcept {
        const auto& calls = work_[call.track];
        return call.at < calls.size() ? calls[call.at] : LaunchedWork{};
    }
    [[nodiscard]] bool launches(std::uint32_t track) const noexcept { return !work_[track].empty(); }
    /// The launching calls of a thread by start.
    [[nodiscard]] std::vector<LaunchCall> calls(const SourceBuilder& source, const HostThread& thread) const;

private:
    std::uint32_t first_id_ = 0;
    std::vector<std::uint32_t> positions_;         ///< by track id - first_id_
    std::vector<std::vector<LaunchedWork>> work_;  ///< by position of the host track; empty where it launched nothing
};

}  // namespace faultline
