// The Python frames that stand for a role in an engine's processes: `function (file.py:line)`, as py-spy names them (ENGINES §6).
// Functions of values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ml/simulator/base/role.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"

namespace faultline::simulator {

using Frames = std::span<const std::string_view>;  ///< outermost first

enum class FrameSide : std::uint8_t { core, runner, front, detokenizer };  ///< scheduling, running the model, HTTP

/// Where a range was opened: the same role has other frames where the model runs than where steps are scheduled.
struct FramePlace {
    Engine engine{};
    FrameSide side{};
    bool in_process = false;  ///< one process schedules and runs the model
    bool overlap = false;     ///< asynchronous scheduling
};

/// What every stack of a process's main thread begins with.
[[nodiscard]] Frames base_frames(Engine engine, ProcessRole role, bool overlap);
/// The same of threads beside it.
[[nodiscard]] Frames thread_frames();
/// What a range of `role` adds to the frames around it; empty where it adds none.
[[nodiscard]] Frames role_frames(Role role, const FramePlace& place);

/// The thread waits for others in it, without the GIL.
[[nodiscard]] constexpr bool waits(Role role) noexcept {
    return role == Role::idle || role == Role::rpc_wait || role == Role::wait_output || role == Role::stream_sync ||
           role == Role::event_wait;
}
/// In a wait of these the thread is not even running: it sleeps in poll or on a lock.
[[nodiscard]] constexpr bool sleeps(Role role) noexcept {
    return role == Role::idle || role == Role::rpc_wait || role == Role::wait_output;
}

}  // namespace faultline::simulator
