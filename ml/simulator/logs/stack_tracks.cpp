#include "ml/simulator/logs/stack_tracks.h"

#include <algorithm>

namespace faultline::simulator {
namespace {

constexpr TimeNs kBatch = 250'000'000;    // ticks are settled a quarter of a second at a time
constexpr TimeNs kLongCall = 50'000;      // shorter ones stand in no sample to speak of
constexpr TimeNs kLongGap = 100'000'000;  // between ranges: the thread was waiting, not between two lines

bool is_sampled(ProcessRole role) {
    switch (role) {
        case ProcessRole::api_server:
        case ProcessRole::engine_core:
        case ProcessRole::worker:
        case ProcessRole::scheduler:
        case ProcessRole::detokenizer:
        case ProcessRole::fsdp_rank: return true;
        case ProcessRole::client:
        case ProcessRole::controller:
        case ProcessRole::other: return false;
    }
    return false;
}

FrameSide side_of(ProcessRole role) {
    switch (role) {
        case ProcessRole::api_server: return FrameSide::front;
        case ProcessRole::detokenizer: return FrameSide::detokenizer;
        case ProcessRole::worker: return FrameSide::runner;
        case ProcessRole::engine_core:
        case ProcessRole::scheduler:
        case ProcessRole::fsdp_rank:
        case ProcessRole::client:
        case ProcessRole::controller:
        case ProcessRole::other: break;
    }
    return FrameSide::core;
}

/// Ranges that stand outermost in a loop; ranges of other roles have one around them that comes later.
bool stands_outermost(Role role) {
    switch (role) {
        case Role::step:
        case Role::idle:
        case Role::rpc_wait:
        case Role::http:
        case Role::tokenize:
        case Role::detokenize:
        case Role::warm_up:
        case Role::capture:
        case Role::compile: return true;
        default: return false;
    }
}

bool takes_gil(Role role) { return role == Role::background || role == Role::gc; }

bool is_long_wait(const Event& event) {
    return (event.kind == EventKind::runtime_call || event.kind == EventKind::driver_call) && event.duration >= kLongCall &&
           (event.role == Role::stream_sync || event.role == Role::event_wait);
}

}  // namespace

StackTracks::StackTracks(const RunOptions& options, const Topology& topology, const Noise& noise) : noise_(noise) {
    const Engine engine = options.deployment.engine;
    processes_.resize(topology.processes.size());
    routes_.resize(topology.threads.size());
    std::vector<std::int32_t> main(topology.processes.size(), -1);
    for (std::size_t t = 0; t < topology.threads.size(); ++t) {
        const auto p = static_cast<std::size_t>(topology.threads[t].process);
        const bool named = topology.threads[t].name == "MainThread";
        if (main[p] < 0 || (named && topology.threads[static_cast<std::size_t>(main[p])].name != "MainThread"))
            main[p] = static_cast<std::int32_t>(t);
    }
    for (std::size_t p = 0; p < processes_.size(); ++p) {
        const ProcessInfo& info = topology.processes[p];
        processes_[p].base = base_frames(engine, info.role, options.deployment.async_scheduling);
        processes_[p].place = {engine, side_of(info.role), options.deployment.tp <= 1 || engine == Engine::vllm_v0,
                               options.deployment.async_scheduling};
    }
    for (std::size_t t = 0; t < topology.threads.size(); ++t) {
        const auto p = static_cast<std::size_t>(topology.threads[t].process);
        if (!is_sampled(topology.processes[p].role)) continue;
        Process& process = processes_[p];
        routes_[t].process = static_cast<std::int32_t>(p);
        if (main[p] == static_cast<std::int32_t>(t)) {
            process.main.thread = static_cast<ThreadIndex>(t);
        } else {
            process.beside.emplace_back().thread = static_cast<ThreadIndex>(t);
            routes_[t].track = static_cast<std::uint32_t>(process.beside.size());
        }
    }
}

std::size_t StackTracks::held() const {
    std::size_t sum = 0;
    for (const Process& p : processes_) {
        sum += p.main.held.size();
        for (const Track& track : p.beside) sum += track.held.size();
    }
    return sum;
}

TimeNs StackTracks::tick_time(std::size_t process, std::int64_t tick) const {
    // A sampler that walks stacks is late by what the walk before took (FORMATS §6).
    const auto late = noise_.below(1'500'000, Draw::stack_sample, process, static_cast<std::uint64_t>(tick));
    return tick * kPeriod + static_cast<TimeNs>(late);
}

void StackTracks::add(const Event& event, Sink& sink) {
    if (event.kind != EventKind::range && !is_long_wait(event)) return;
    if (static_cast<std::size_t>(event.thread) >= routes_.size()) return;
    const Route route = routes_[static_cast<std::size_t>(event.thread)];
    if (route.process < 0) return;
    const auto index = static_cast<std::size_t>(route.process);
    Process& process = processes_[index];
    const Held held{event.start, event.start + event.duration, event.role, process.told++};
    if (route.track > 0) {
        if (!takes_gil(event.role)) return;
        auto& beside = process.beside[route.track - 1].held;
        if (beside.size() >= kMostBeside) beside.erase(beside.begin(), beside.begin() + static_cast<std::ptrdiff_t>(kMostBeside / 2));
        beside.push_back(held);
        return;
    }
    if (!process.started) {
        process.started = true;
        process.tick = held.start / kPeriod + 1;
    }
    process.main.held.push_back(held);
    process.last_end = std::max(process.last_end, held.end);
    if (event.kind == EventKind::range && stands_outermost(held.role)) process.outer_end = std::max(process.outer_end, held.end);
    const bool full = process.main.held.size() > kMostHeld;
    const TimeNs limit = full ? held.end : std::min(held.start - kPatience, process.outer_end);
    if (full || limit >= process.tick * kPeriod + kBatch) sample_until(index, limit, sink);
}

void StackTracks::finish(Sink& sink) {
    for (std::size_t p = 0; p < processes_.size(); ++p)
        if (processes_[p].started) sample_until(p, processes_[p].last_end, sink);
}

void StackTracks::begin_sweep(Track& track, TimeNs limit) {
    const auto later = std::partition(track.held.begin(), track.held.end(), [&](const Held& h) { return h.start <= limit; });
    std::sort(track.held.begin(), later, [](const Held& a, const Held& b) {
        if (a.start != b.start) return a.start < b.start;
        if (a.end != b.end) return a.end > b.end;
        return static_cast<std::int32_t>(a.order - b.order) > 0;
    });
    track.next = 0;
    track.open.clear();
}

void StackTracks::sweep_to(Track& track, TimeNs time) {
    std::erase_if(track.open, [&](const Held& h) { return h.end <= time; });
    for (; track.next < track.held.size() && track.held[track.next].start <= time; ++track.next)
        if (track.held[track.next].end > time) track.open.push_back(track.held[track.next]);
}

void StackTracks::end_sweep(Track& track, TimeNs limit) {
    std::erase_if(track.held, [&](const Held& h) { return h.end <= limit; });
}

void StackTracks::sample_until(std::size_t index, TimeNs limit, Sink& sink) {
    Process& process = processes_[index];
    begin_sweep(process.main, limit);
    for (Track& track : process.beside) begin_sweep(track, limit);
    for (TimeNs time = tick_time(index, process.tick); time <= limit; time = tick_time(index, ++process.tick))
        sample_at(process, time, sink);
    end_sweep(process.main, limit);
    for (Track& track : process.beside) end_sweep(track, limit);
}

void StackTracks::sample_at(Process& process, TimeNs time, Sink& sink) {
    sweep_to(process.main, time);
    const bool taken = sample_beside(process, time, sink);
    Track& main = process.main;
    bool waiting = false, asleep = false;
    if (main.open.empty()) {
        const TimeNs before = main.next > 0 ? main.held[main.next - 1].end : time;
        const TimeNs after = main.next < main.held.size() ? main.held[main.next].start : time;
        waiting = asleep = after - before > kLongGap;
    } else {
        const Role innermost = main.open.back().role;
        waiting = waits(innermost);
        asleep = sleeps(innermost) && !(innermost == Role::wait_output && process.place.in_process);
    }
    build(process, waiting && main.open.empty());
    give(time, main.thread, !asleep, !waiting && !taken, sink);
}

bool StackTracks::sample_beside(Process& process, TimeNs time, Sink& sink) {
    bool taken = false;
    for (Track& track : process.beside) {
        sweep_to(track, time);
        if (track.open.empty()) continue;
        stack_.assign(thread_frames().begin(), thread_frames().end());
        for (const Held& h : track.open) {
            const Frames frames = role_frames(h.role, process.place);
            stack_.insert(stack_.end(), frames.begin(), frames.end());
        }
        give(time, track.thread, true, !taken, sink);
        taken = true;
    }
    return taken;
}

void StackTracks::build(const Process& process, bool waiting) {
    stack_.assign(process.base.begin(), process.base.end());
    const auto put = [&](Role role, const FramePlace& place) {
        const Frames frames = role_frames(role, place);
        stack_.insert(stack_.end(), frames.begin(), frames.end());
    };
    FramePlace place = process.place;
    if (waiting) return put(place.side == FrameSide::runner ? Role::rpc_wait : Role::idle, place);
    bool in_step = false;
    for (const Held& h : process.main.open) {
        // With one process for both, the model's part begins below the executor's call, or with the worker's own range of the step.
        if (place.in_process && place.side == FrameSide::core && h.role == Role::step && in_step) place.side = FrameSide::runner;
        put(h.role, place);
        in_step = in_step || h.role == Role::step;
        if (place.in_process && place.side == FrameSide::core && h.role == Role::rpc) place.side = FrameSide::runner;
    }
}

void StackTracks::give(TimeNs time, ThreadIndex thread, bool active, bool owns_gil, Sink& sink) {
    std::reverse(stack_.begin(), stack_.end());
    sink.sample({time, thread, active, owns_gil, stack_});
}

}  // namespace faultline::simulator
