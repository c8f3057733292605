// Threads that do nothing for a while: a stopped worker (C2), a CPU quota (A7), a lock of the driver (C3) or of the interpreter (C9), a
// garbage collection (E3).
#include <algorithm>
#include <array>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kSecond = 1'000'000'000, kMillisecond = 1'000'000;

/// Holes known by time, planned a second ahead so that no list grows with the run.
class TimedHoles : public Mechanism {
public:
    TimedHoles(FaultSettings settings, const Noise& noise, Manner manner) : Mechanism(std::move(settings), noise, manner) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        next_ = settings_.start + static_cast<TimeNs>(0.02 * uniform(1) * static_cast<double>(settings_.end - settings_.start));
        plan(settings_.start + kSecond, reach);
    }
    void before_schedule(SchedulerKnobs&, InstanceIndex, TimeNs now, FaultReach& reach) override {
        if (active(now)) plan(now + kSecond, reach);
    }

protected:
    /// The hole number `n` at `start`; returns when the next one begins.
    virtual TimeNs dig(std::uint64_t n, TimeNs start, FaultReach& reach) = 0;

private:
    void plan(TimeNs until, FaultReach& reach) {
        while (next_ < std::min(until, settings_.end)) next_ = std::max(dig(number_++, next_, reach), next_ + kMillisecond);
    }
    TimeNs next_ = 0;
    std::uint64_t number_ = 0;
};

class WorkerPaused final : public TimedHoles {
public:
    WorkerPaused(FaultSettings settings, const Noise& noise) : TimedHoles(std::move(settings), noise, {.scope = Scope::rank, .gap = true}) {}

private:
    TimeNs dig(std::uint64_t n, TimeNs start, FaultReach& reach) override {
        const TimeNs length = jittered(milliseconds(), 2, n);
        for (const int rank : settings_.ranks) {
            reach.machine.disturb({.what = Disturbance::What::pause, .start = start, .end = start + length, .threads = {worker(reach, rank)}});
        }
        return start + length + std::max(4 * length, static_cast<TimeNs>(between(0.3, 2, 3, n) * kSecond));
    }
};

class QuotaThrottling final : public TimedHoles {
public:
    QuotaThrottling(FaultSettings settings, const Noise& noise) : TimedHoles(std::move(settings), noise, {.scope = Scope::all, .gap = true}) {}

private:
    TimeNs dig(std::uint64_t n, TimeNs start, FaultReach& reach) override {
        // Periods of the quota are 100 ms; the freeze lasts to the end of its period. Not every period uses up the quota.
        constexpr TimeNs kPeriod = 100 * kMillisecond;
        const TimeNs length = std::min(jittered(milliseconds(), 2, n), kPeriod - 2 * kMillisecond);
        if (n == 0 || uniform(3, n) < 0.55) {
            const TimeNs end = start - start % kPeriod + kPeriod;
            if (end - length >= start) {
                reach.machine.disturb({.what = Disturbance::What::pause, .start = end - length, .end = end, .threads = all_threads(reach)});
            } else {
                reach.machine.disturb({.what = Disturbance::What::pause, .start = end + kPeriod - length, .end = end + kPeriod, .threads = all_threads(reach)});
                return end + kPeriod;
            }
        }
        return start - start % kPeriod + kPeriod;
    }
};

class DriverLock final : public TimedHoles {
public:
    DriverLock(FaultSettings settings, const Noise& noise) : TimedHoles(std::move(settings), noise, {.scope = Scope::all}) {
        const double window = static_cast<double>(settings_.end - settings_.start) / 1e9;
        period_ = static_cast<TimeNs>(between(1, std::clamp(window / 4, 1.0, 15.0), 4) * kSecond);
    }

private:
    TimeNs dig(std::uint64_t n, TimeNs start, FaultReach& reach) override {
        const NodeIndex node = reach.host.topology().process(core_process(reach)).node;
        std::vector<ThreadIndex> threads;
        for (const ThreadIndex t : all_threads(reach)) {
            if (reach.host.topology().process(process(reach, t)).node == node) threads.push_back(t);
        }
        reach.machine.disturb({.what = Disturbance::What::hold_calls, .start = start, .end = start + jittered(milliseconds(), 2, n), .threads = std::move(threads)});
        return start + period_;
    }
    TimeNs period_ = kSecond;
};

class InterpreterLock final : public TimedHoles {
public:
    InterpreterLock(FaultSettings settings, const Noise& noise) : TimedHoles(std::move(settings), noise, {.scope = Scope::rank, .gap = true}) {}

private:
    TimeNs dig(std::uint64_t n, TimeNs start, FaultReach& reach) override {
        const TimeNs length = jittered(milliseconds(), 2, n);
        const ThreadIndex main = worker(reach, first_rank());
        reach.machine.disturb({.what = Disturbance::What::pause, .start = start, .end = start + length, .threads = {main}});
        ThreadIndex other = ThreadIndex::none;
        for (const ThreadIndex t : place(reach).background) {
            if (other == ThreadIndex::none || process(reach, t) == process(reach, main)) other = t;
        }
        if (other != ThreadIndex::none) {
            Program program;
            program.add({.kind = OpKind::push, .role = Role::background, .suspect = true});
            program.add({.kind = OpKind::work, .suspect = true, .cost = length});
            program.add({.kind = OpKind::pop});
            reach.machine.run(other, std::move(program), start);
        }
        return start + length + static_cast<TimeNs>(between(0.4, 2.5, 3, n) * kSecond);
    }
};

/// Collections of the oldest generation: rarer and longer each time, as the heap grows by a quarter between them.
class GcPause final : public Mechanism {
public:
    GcPause(FaultSettings settings, const Noise& noise)
        : Mechanism(std::move(settings), noise, {.scope = noise.chance(0.5, Draw::fault_choice, 311) ? Scope::rank : Scope::core, .gap = true}) {
        due_ = settings_.start;
    }
    bool change_program(ThreadProgram& program, const StepPlan&, FaultReach& reach) override {
        const bool core = manner_.scope == Scope::core;
        if (core ? !(at_core(program, reach) && on_core(program, reach)) : !at_worker(program, reach)) return false;
        const TimeNs now = time_of(program, reach);
        if (now < due_ || program.program.step == 0) return false;
        ProgramEdit edit(program.program, reach.names);
        const auto range = edit.range_of({Role::update_from_output, Role::prepare_inputs, Role::update_states, Role::schedule, Role::model_forward, Role::step});
        const TimeNs length = static_cast<TimeNs>(static_cast<double>(jittered(milliseconds(), 2, number_)) * growth_);
        const std::size_t place = edit.host_place(range ? *range + 1 : 0);
        const bool frames = reach.options.recording.python;
        const std::size_t after = edit.put_work(place, length, Role::gc, frames ? std::string_view("gc.py(1): collect") : std::string_view{});
        if (range) edit.mark_range(*range);
        edit.mark_call(after);
        due_ = now + length + static_cast<TimeNs>(between(0.3, 1.2, 3) * growth_ * static_cast<double>(kSecond));
        growth_ = std::min(growth_ * 1.25, 20.0);
        ++number_;
        return true;
    }

private:
    TimeNs due_ = 0;
    double growth_ = 1;
    std::uint64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Fault> make_host_holes(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "C2") return std::make_unique<WorkerPaused>(settings, noise);
    if (id == "A7") return std::make_unique<QuotaThrottling>(settings, noise);
    if (id == "C3") return std::make_unique<DriverLock>(settings, noise);
    if (id == "C9") return std::make_unique<InterpreterLock>(settings, noise);
    if (id == "E3") return std::make_unique<GcPause>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
