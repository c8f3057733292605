// What pauses, slow hosts, slow devices and slow links make of a duration: progress is integrated over the windows that it meets.
#include <algorithm>

#include "ml/simulator/machine/machine_state.h"

namespace faultline::simulator {
namespace {

using What = Disturbance::What;

/// How fast something goes on in a window: `factor` times as long, or not at all.
struct Pace {
    double factor = 1;
    bool held = false;
};

struct Stretch {
    TimeNs end = 0;
    bool forever = false;
    bool suspect = false;  ///< by a window that is
    bool held = false;     ///< by one in which nothing goes on, and that is suspect
};

/// Where `cost` of work from `start` on ends. `pace_of(window)` must be 1 for what does not concern it.
template <class PaceOf>
Stretch stretch(const Window* first, const Window* last, TimeNs start, TimeNs cost, PaceOf pace_of) {
    Stretch found;
    TimeNs at = start;
    auto left = static_cast<double>(cost);
    while (true) {
        double factor = 1;
        TimeNs border = kNever, held_until = 0;
        bool suspect = false, held_suspect = false;
        for (const Window* window = first; window != last; ++window) {
            if (window->end <= at) continue;
            if (window->start > at) {
                border = std::min(border, window->start);
                break;
            }
            const Pace pace = pace_of(*window);
            if (pace.held) {
                held_until = std::max(held_until, window->end);
                held_suspect = held_suspect || window->suspect;
            } else if (pace.factor != 1) {
                factor *= pace.factor;
                suspect = suspect || window->suspect;
                border = std::min(border, window->end);
            }
        }
        if (held_until > 0) {
            if (held_until - at >= kForever) {
                found.end = at;
                found.forever = true;
                return found;
            }
            at = held_until;
            found.suspect = found.suspect || held_suspect;
            found.held = found.held || held_suspect;
            continue;
        }
        found.suspect = found.suspect || (suspect && left > 0);
        const auto needed = static_cast<TimeNs>(left * factor);
        if (border == kNever || needed <= border - at) {
            found.end = at + needed;
            return found;
        }
        left = std::max(left - static_cast<double>(border - at) / factor, 0.0);
        at = border;
    }
}

template <class PaceOf>
Stretch stretch(const Windows& windows, TimeNs start, TimeNs cost, PaceOf pace_of) {
    return stretch(windows.all.data() + windows.first, windows.all.data() + windows.all.size(), start, cost, pace_of);
}

bool befalls_threads(What what) { return what == What::pause || what == What::slow_host || what == What::hold_calls; }

Pace host_pace(const Window& window) {
    if (window.what == What::pause) return {1, true};
    return {window.what == What::slow_host ? window.factor : 1, false};
}

}  // namespace

void Windows::add(const Window& window) {
    const auto place = std::upper_bound(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), window,
                                        [](const Window& a, const Window& b) { return a.start < b.start; });
    all.insert(place, window);
    next = all[first].start;
}

void Windows::pass(TimeNs time) {
    while (first < all.size() && all[first].end <= time) ++first;
    if (first == all.size()) {
        clear();
        return;
    }
    if (first >= 64) {
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
        first = 0;
    }
    next = all[first].start;
}

void Windows::clear() {
    all.clear();
    first = 0;
    next = kNever;
}

void MachineState::disturb(const Disturbance& disturbance) {
    if (disturbance.end <= disturbance.start) return;
    const Window window{disturbance.start, disturbance.end, disturbance.factor, disturbance.what, disturbance.suspect, disturbances_++};
    if (befalls_threads(disturbance.what)) {
        for (const ThreadIndex thread : disturbance.threads) {
            if (static_cast<std::size_t>(thread) < threads.size()) threads[static_cast<std::size_t>(thread)].windows.add(window);
        }
    } else {
        for (const int device : disturbance.devices) {
            if (device >= 0 && static_cast<std::size_t>(device) < devices.size())
                devices[static_cast<std::size_t>(device)].windows.add(window);
        }
    }
}

void MachineState::calm() {
    for (ThreadState& thread : threads) {
        thread.windows.clear();
        thread.mark_next = false;
    }
    for (DeviceState& device : devices) device.windows.clear();
}

void MachineState::prune() {
    for (ThreadState& thread : threads) {
        if (thread.windows.next != kNever) thread.windows.pass(thread.now);
    }
    for (DeviceState& device : devices) {
        if (device.windows.next == kNever) continue;
        // New work comes after its stream's last and after what its thread does now; a stream nobody has used yet says nothing.
        TimeNs floor = kNever;
        for (const std::uint32_t s : device.streams) {
            const StreamState& stream = streams[s];
            if (!stream.used) continue;
            TimeNs at = stream.last_end;
            if (stream.empty() && stream.last_thread != ThreadIndex::none) {
                at = std::max(at, threads[static_cast<std::size_t>(stream.last_thread)].now);
            }
            floor = std::min(floor, at);
        }
        if (floor != kNever) device.windows.pass(floor);
    }
}

TimeNs MachineState::host_end(ThreadState& thread, TimeNs cost, bool& stretched) {
    if (thread.now + cost <= thread.windows.next) return thread.now + cost;
    thread.windows.pass(thread.now);
    const Stretch found = stretch(thread.windows, thread.now, cost, host_pace);
    if (found.forever) thread.waiting = ThreadState::Waiting::forever;
    stretched = stretched || found.suspect;
    thread.mark_next = thread.mark_next || found.held;
    return found.end;
}

TimeNs MachineState::call_end(ThreadState& thread, TimeNs begun, TimeNs end, bool& stretched) {
    if (end <= thread.windows.next) return end;
    bool again = true;  // a held call may come into the next window
    while (again) {
        again = false;
        for (std::size_t i = thread.windows.first; i < thread.windows.all.size(); ++i) {
            const Window& window = thread.windows.all[i];
            if (window.start >= end) break;
            if (window.what != What::hold_calls || window.end <= begun || window.end <= end) continue;
            if (window.end - end >= kForever) {
                thread.waiting = ThreadState::Waiting::forever;
                return end;
            }
            end = window.end;
            stretched = stretched || window.suspect;
            again = true;
        }
    }
    return end;
}

TimeNs MachineState::resumed(ThreadState& thread, TimeNs time, bool& stretched) {
    if (time <= thread.windows.next) return time;
    const Stretch found = stretch(thread.windows, time, 0, host_pace);
    if (found.forever) thread.waiting = ThreadState::Waiting::forever;
    stretched = stretched || found.held;
    thread.mark_next = thread.mark_next || found.held;
    return found.end;
}

TimeNs MachineState::device_end(StreamState& stream, const StreamItem& item, TimeNs begun, TimeNs cost, bool& stretched) {
    const Windows& windows = devices[static_cast<std::size_t>(stream.device)].windows;
    if (begun + cost <= windows.next) return begun + cost;
    const Stretch found = stretch(windows, begun, cost, [&](const Window& window) -> Pace {
        switch (window.what) {
            case What::slow_compute:  // a lower clock slows the memory less (FAULTS §7, B3)
                if (item.bound == Bound::compute) return {window.factor, false};
                if (item.bound == Bound::memory) return {1 + 0.3 * (window.factor - 1), false};
                return {};
            case What::slow_all: return {window.factor, false};
            case What::slow_link: return {item.bound == Bound::link ? window.factor : 1, false};
            default: return {};
        }
    });
    stretched = stretched || found.suspect;
    return found.end;
}

TimeNs MachineState::link_end(const GroupState& group, TimeNs begun, TimeNs cost, bool& stretched) {
    TimeNs next = kNever;
    for (const StreamIndex member : group.members) {
        next = std::min(next, devices[static_cast<std::size_t>(streams[static_cast<std::size_t>(member)].device)].windows.next);
    }
    if (begun + cost <= next) return begun + cost;
    scratch_.clear();
    const TimeNs horizon = begun + 100 * cost + 1'000'000'000;  // what starts after it does not matter any more
    for (const StreamIndex member : group.members) {
        const Windows& windows = devices[static_cast<std::size_t>(streams[static_cast<std::size_t>(member)].device)].windows;
        for (std::size_t i = windows.first; i < windows.all.size(); ++i) {
            const Window& window = windows.all[i];
            if (window.start > horizon) break;
            if (window.end > begun && (window.what == What::slow_link || window.what == What::delay_link)) scratch_.push_back(window);
        }
    }
    // One disturbance of several members counts once.
    std::sort(scratch_.begin(), scratch_.end(),
              [](const Window& a, const Window& b) { return a.start != b.start ? a.start < b.start : a.id < b.id; });
    scratch_.erase(std::unique(scratch_.begin(), scratch_.end(), [](const Window& a, const Window& b) { return a.id == b.id; }),
                   scratch_.end());
    for (const Window& window : scratch_) {
        if (window.what != What::delay_link || window.start > begun) continue;
        cost += window.factor >= static_cast<double>(kForever) ? kForever : static_cast<TimeNs>(window.factor);
        stretched = stretched || window.suspect;
    }
    const Stretch found = stretch(scratch_.data(), scratch_.data() + scratch_.size(), begun, cost, [](const Window& window) -> Pace {
        return {window.what == What::slow_link ? window.factor : 1, false};
    });
    stretched = stretched || found.suspect;
    return found.end;
}

}  // namespace faultline::simulator
