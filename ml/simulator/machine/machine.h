// Runs programs on the threads and streams of a topology and tells a sink what happened.
//
// Each thread executes its programs in order; a stream executes what was queued on it in order, after launch and after the events it waits
// for; a collective starts on each rank when that rank reaches it and ends on all at once, `device_cost` after the last has come
// (ENGINES §4.4: a late rank has a short collective, its peers long ones). Host waits hold the thread. Nothing starts before its launch.
// Threads that wait for something nobody will bring stay blocked: that is a hang, and the driver sees it in blocked().
//
// Deterministic; memory does not grow with time: finished programs, signals below the floor and past disturbances are dropped. Copyable: a
// copy with a null sink is a rehearsal of what would happen without what is done to the original. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/machine/op.h"

namespace faultline::simulator {

/// Something that befalls threads or devices between two times, whatever they run then. A pause or hold of kForever or more never ends: the
/// thread stays blocked in what it was in.
struct Disturbance {
    enum class What : std::uint8_t {
        pause,         ///< the thread does nothing: what it was in is stretched by the overlap
        slow_host,     ///< host costs × factor
        hold_calls,    ///< API calls that run in the window return at its end; Python goes on
        slow_compute,  ///< device work of the stream's device: compute-bound × factor, memory-bound × (1 + 0.3 (factor - 1))
        slow_all,      ///< all device work of the device but collectives × factor
        slow_link,     ///< collectives and copies between devices × factor
        delay_link,    ///< collectives get `factor` nanoseconds more
    };
    What what{};
    TimeNs start = 0, end = 0;
    double factor = 1;
    std::vector<ThreadIndex> threads{};  ///< for what befalls threads
    std::vector<int> devices{};          ///< for what befalls devices: positions in Topology::devices; of a collective, any member counts
    bool suspect = true;               ///< events that it stretched, or the first call after a pause, are marked
};

/// A point of a program that was passed.
struct MarkerPassed {
    std::uint32_t number = 0;
    ThreadIndex thread{};
    TimeNs time = 0;
};

class MachineState;

class Machine {
public:
    /// `topology` and `names` must outlive the machine. Every thread and stream is free at `start`.
    Machine(const Topology& topology, const Noise& noise, TimeNs start);
    Machine(const Machine& other);
    Machine(Machine&&) noexcept;
    Machine& operator=(const Machine& other);
    Machine& operator=(Machine&&) noexcept;
    ~Machine();

    void set_sink(Sink* sink);  ///< null: nothing is told

    /// Streams that take part in one kind of collective; the number for Op::group.
    std::uint16_t add_group(std::vector<StreamIndex> members);
    /// A signal nobody has set; numbers are never used twice.
    std::uint32_t new_signal();
    void disturb(Disturbance disturbance);
    void calm();  ///< takes every disturbance away: for a rehearsal of what would be without them

    /// Behind what the thread still has to do. Not before `not_before` (an order that came later).
    void run(ThreadIndex thread, Program program, TimeNs not_before = 0);
    /// Sets a signal from outside (a message of a client, a transfer that arrived).
    void set_signal(std::uint32_t signal, TimeNs time);
    /// Runs every thread until it has nothing left or waits for what is not there. Events go to the sink as they end.
    void advance();

    [[nodiscard]] TimeNs now(ThreadIndex thread) const;                             ///< when it is through with what it could do
    [[nodiscard]] bool idle(ThreadIndex thread) const;                              ///< has nothing left to do
    [[nodiscard]] bool blocked(ThreadIndex thread) const { return !idle(thread); }  ///< after advance(): waits for what has not come
    [[nodiscard]] TimeNs stream_end(StreamIndex stream) const;                      ///< end of the last work on it that has an end
    [[nodiscard]] bool stream_stuck(StreamIndex stream) const;                      ///< work is queued that never ends or waits for ever
    [[nodiscard]] std::optional<TimeNs> signal_time(std::uint32_t signal) const;
    [[nodiscard]] std::vector<MarkerPassed> take_markers();
    /// End of the last event of a step so far, device work included; 0 where it has none.
    [[nodiscard]] TimeNs step_end(StepNumber step) const;
    /// The lowest signal that something queued still waits for; kNoSignal where nothing does.
    [[nodiscard]] std::uint32_t oldest_needed_signal() const;
    void forget_before(StepNumber step, std::uint32_t signal);  ///< lets go of what older steps and signals left

    /// Ends the capture: open ranges are told up to `end` with `cut`; calls that never returned and work that never ended are not told,
    /// as profilers do.
    void finish(TimeNs end);

    [[nodiscard]] std::uint64_t events() const;
    /// Signals, steps, queued operations, programs, windows and open ranges that are held just now: bounded however long a run lasts.
    [[nodiscard]] std::size_t held() const;

private:
    std::unique_ptr<MachineState> state_;
};

}  // namespace faultline::simulator
