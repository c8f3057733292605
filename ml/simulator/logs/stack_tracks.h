// Ranges of the threads of a run on their way to stack samples: held until nothing that contains them can come any more, swept at the ticks
// of their process, then let go. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ml/simulator/base/event.h"
#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/logs/stack_frames.h"

namespace faultline::simulator {

class StackTracks {
public:
    StackTracks(const RunOptions& options, const Topology& topology, const Noise& noise);

    /// Takes what matters of `event`; samples that are settled by it go to `sink`.
    void add(const Event& event, Sink& sink);
    /// Samples all that is left.
    void finish(Sink& sink);

    [[nodiscard]] std::size_t held() const;  ///< ranges, over all threads

    static constexpr TimeNs kPeriod = 10'000'000;         ///< 100 Hz
    static constexpr TimeNs kPatience = 2'000'000'000;    ///< for what other threads did meanwhile, and for ranges around ranges
    static constexpr std::size_t kMostHeld = 32 * 1024;   ///< of one main thread; then it is sampled with what is known
    static constexpr std::size_t kMostBeside = 4 * 1024;  ///< of one other thread; then its older half is forgotten

private:
    struct Held {
        TimeNs start = 0, end = 0;
        Role role{};
        std::uint32_t order = 0;  ///< in which they were told: of two with the same ends the later one is around the other
    };
    struct Track {
        ThreadIndex thread{};
        std::vector<Held> held;
        // of the sweep that is going on
        std::size_t next = 0;
        std::vector<Held> open;
    };
    struct Process {
        Track main;
        std::vector<Track> beside;
        Frames base;
        FramePlace place;
        bool started = false;
        TimeNs outer_end = 0, last_end = 0;
        std::int64_t tick = 0;  ///< number of the next one
        std::uint32_t told = 0;
    };
    /// Where events of a thread go: its process, and 0 for the main thread or the place in `beside` + 1.
    struct Route {
        std::int32_t process = -1;
        std::uint32_t track = 0;
    };

    [[nodiscard]] TimeNs tick_time(std::size_t process, std::int64_t tick) const;
    void sample_until(std::size_t process, TimeNs limit, Sink& sink);
    void sample_at(Process& process, TimeNs time, Sink& sink);
    /// Whether another thread holds the GIL at `time`; its sample goes out.
    bool sample_beside(Process& process, TimeNs time, Sink& sink);
    void build(const Process& process, bool waiting);
    void give(TimeNs time, ThreadIndex thread, bool active, bool owns_gil, Sink& sink);
    static void begin_sweep(Track& track, TimeNs limit);
    static void sweep_to(Track& track, TimeNs time);
    static void end_sweep(Track& track, TimeNs limit);

    Noise noise_;
    std::vector<Process> processes_;
    std::vector<Route> routes_;            ///< by thread
    std::vector<std::string_view> stack_;  ///< outermost first, then turned round
};

}  // namespace faultline::simulator
