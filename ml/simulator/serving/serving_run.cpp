#include "ml/simulator/serving/serving_run.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "ml/simulator/serving/rehearsal.h"
#include "ml/simulator/serving/step_judgement.h"

namespace faultline::simulator {
namespace {

/// An engine whose queue is empty looks at least so often whether another instance has work for it.
constexpr TimeNs kLookAround = 5'000'000;

TimeNs duration_of(double seconds) { return static_cast<TimeNs>(seconds * 1e9); }

}  // namespace

/// A step between its launch and the arrival of its tokens.
struct ServingRun::Flight {
    StepPlan plan;
    std::uint32_t done = kNoSignal;
    GraphMode graphs = GraphMode::none;
    bool changed = false;
    bool held = false;  ///< by what befell a rank in the step before
    TimeNs expected = kNull, arrived = kNull;  ///< when its tokens are with the core: as rehearsed, and when they were
};

struct ServingRun::Loop {
    std::deque<Flight> flying;
    bool stuck = false, over = false;
    std::uint32_t turns = 0;
    TimeNs ticked = 0;
    std::vector<SuspectOperator> suspects;  ///< of the last step that had any
};

ServingRun::ServingRun(const RunParts& parts, Sink& sink, RunListener listener, std::function<std::string(ProcessIndex)> file_of)
    : parts_(parts),
      listener_(std::move(listener)),
      machine_(parts.host.topology(), parts.noise, parts.start),
      gauges_(parts.host.topology(), parts.device.gpu(), parts.noise, sink, parts.start),
      book_(parts.host.topology(), parts.names, gauges_, std::move(file_of)),
      reach_{parts.options, parts.device, parts.host, machine_, parts.names, parts.noise, fault_logs_},
      door_(parts.options, parts.noise, parts.host.places(), parts.start) {
    machine_.set_sink(&book_);
    parts_.host.prepare(machine_);
    const Places& places = parts_.host.places();
    for (std::size_t i = 0; i < places.instances.size(); ++i) {
        schedulers_.emplace_back(parts_.options, parts_.noise, static_cast<InstanceIndex>(i), places.instances[i].duty, parts_.device.kv_blocks());
        loops_.emplace_back();
    }
    together_ = parts_.options.deployment.expert_parallel && loops_.size() > 1;
}

ServingRun::~ServingRun() = default;

TimeNs ServingRun::now(std::size_t instance) const { return machine_.now(parts_.host.places().instances[instance].core); }

bool ServingRun::may_act(TimeNs now) const { return parts_.fault != nullptr && parts_.fault->active(now); }

FrontDoor::Scene ServingRun::scene() { return {parts_.host, machine_, parts_.voice, logs_, parts_.fault, reach_, schedulers_, book_, touched_requests_}; }

bool ServingRun::serve(std::stop_token stop) {
    TimeNs ready = parts_.start;
    if (parts_.options.recording.startup) {
        run_all(parts_.host.start_up(machine_), StepPlan{}, nullptr);
        for (std::size_t i = 0; i < loops_.size(); ++i) ready = std::max(ready, now(i));
        logs_.add(parts_.voice.start_up(parts_.start, ready));
        door_ = FrontDoor(parts_.options, parts_.noise, parts_.host.places(), ready);
        parts_.end += ready - parts_.start;
    } else {
        // It came up a while before the capture begins.
        const TimeNs before = duration_of(300 + 600 * parts_.noise.uniform(Draw::start_time, 1));
        logs_.add(parts_.voice.start_up(ready - before, ready - before + duration_of(70)));
    }
    if (parts_.fault != nullptr) {
        parts_.fault->begin(reach_);
        gauges_.follow(parts_.fault->slow_clocks());
    }
    while (!stop.stop_requested()) {
        const std::vector<std::size_t> instances = next_turn();
        if (instances.empty()) break;
        turn(instances);
    }
    if (stop.stop_requested()) return false;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        while (!loops_[i].flying.empty() && !loops_[i].stuck) finish_step(i);
        ended_ = std::max(ended_, now(i));
    }
    if (summary_.stuck) {
        ended_ = std::max(ended_, parts_.end);
        // Engines go on to write their statistics while nothing moves.
        for (TimeNs at = parts_.end; at < ended_; at += 5'000'000'000) settle(at);
    }
    machine_.finish(ended_);
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        for (Flight& flight : loops_[i].flying) close(flight, 0);
    }
    // What the capture cuts off.
    for (const Scheduler& scheduler : schedulers_) {
        for (const Request* request : scheduler.requests()) depart(*request);
    }
    for (const Request* request : door_.on_their_way()) depart(*request);
    gauges_.tick(ended_);
    logs_.add(std::exchange(fault_logs_, {}));
    logs_.give(ended_ + 1, book_);
    summary_.requests = door_.sent();
    summary_.events = machine_.events();
    summary_.log_lines = logs_.given();
    if (parts_.fault != nullptr) summary_.fault_start = parts_.fault->settings().start;
    return true;
}

std::vector<std::size_t> ServingRun::next_turn() const {
    std::vector<std::size_t> found;
    if (parts_.options.max_steps > 0 && steps_ >= static_cast<StepNumber>(parts_.options.max_steps)) return found;
    TimeNs soonest = parts_.end;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        const Loop& loop = loops_[i];
        if (loop.stuck || loop.over || now(i) >= soonest) continue;
        soonest = now(i);
        found.assign(1, i);
    }
    if (together_ && !found.empty()) {
        found.clear();
        for (std::size_t i = 0; i < loops_.size(); ++i) {
            if (!loops_[i].stuck && !loops_[i].over) found.push_back(i);
        }
    }
    return found;
}

StepPlan ServingRun::schedule(std::size_t instance, TimeNs at) {
    SchedulerKnobs knobs;
    if (may_act(at)) parts_.fault->before_schedule(knobs, static_cast<InstanceIndex>(instance), at, reach_);
    StepPlan plan = schedulers_[instance].schedule(at, knobs);
    plan.instance = static_cast<InstanceIndex>(instance);
    return plan;
}

void ServingRun::turn(const std::vector<std::size_t>& instances) {
    TimeNs at = std::numeric_limits<TimeNs>::max();
    for (const std::size_t i : instances) at = std::min(at, now(i));
    settle(at);
    std::vector<StepPlan> plans;
    bool any = false;
    for (const std::size_t i : instances) {
        FrontDoor::Scene s = scene();
        door_.bring(now(i), s, [&](const Request& request) { depart(request); });
        plans.push_back(schedule(i, now(i)));
        any = any || plans.back().kind != StepKind::idle;
    }
    for (StepPlan& plan : plans) {
        if (plan.kind == StepKind::idle && together_ && any) plan.kind = StepKind::dummy;
    }
    if (may_act(at)) parts_.fault->before_launch(plans);
    for (std::size_t k = 0; k < instances.size(); ++k) {
        const std::size_t i = instances[k];
        StepPlan& plan = plans[k];
        Loop& loop = loops_[i];
        if (plan.kind == StepKind::idle) {
            if (!loop.flying.empty()) {
                finish_step(i);
            } else if (schedulers_[i].has_work() && may_act(now(i))) {
                spin(i, now(i));
            } else {
                wait_for_work(i, now(i));
            }
            continue;
        }
        plan.step = ++steps_;
        plan.instance_step = loop.turns++;
        StepPlan unchanged = plan;
        launch(i, plan, std::move(unchanged));
    }
    machine_.advance();
    const std::size_t depth = parts_.options.deployment.async_scheduling ? 1 : 0;
    for (std::size_t k = 0; k < instances.size(); ++k) {
        const std::size_t i = instances[k];
        if (plans[k].kind == StepKind::idle) continue;
        while (loops_[i].flying.size() > depth && !loops_[i].stuck) finish_step(i);
        if (!loops_[i].stuck) run_all(parts_.host.end_turn(static_cast<InstanceIndex>(i)), StepPlan{}, nullptr);
    }
}

void ServingRun::launch(std::size_t instance, StepPlan plan, StepPlan unchanged) {
    const TimeNs at = now(instance);
    const InstancePlaces& place = parts_.host.places().instances[instance];
    const bool acting = may_act(at);
    Flight flight;
    const auto kernels_of = [&](const StepPlan& p) {
        std::vector<StepKernels> kernels;
        for (const RankPlace& rank : place.ranks) kernels.push_back(parts_.device.kernels(p, rank));
        return kernels;
    };
    TimeNs rehearsed = kNull;
    if (acting) {
        const StepRehearsal rehearsal = rehearse_step(machine_, parts_.host, unchanged, kernels_of(unchanged));
        // A rank that is still held by what befell it in the step before holds this one: that is lost here.
        const TimeNs behind = carried(instance);
        flight.held = behind > 0;
        if (rehearsal.tokens) flight.expected = *rehearsal.tokens - behind;
        if (rehearsal.device_end > at) rehearsed = std::max(rehearsal.device_end - at - behind, TimeNs{1});
        flight.changed = parts_.fault->change_plan(plan, reach_) || flight.held;
    }
    std::vector<StepKernels> kernels = kernels_of(plan);
    if (acting) {
        for (std::size_t r = 0; r < kernels.size(); ++r) {
            flight.changed = parts_.fault->change_kernels(kernels[r], plan, static_cast<int>(r), reach_) || flight.changed;
        }
    }
    if (!kernels.empty()) {
        plan.padded_batch = kernels.front().padded_batch;
        plan.distinct_experts = kernels.front().distinct_experts;
        flight.graphs = kernels.front().graphs;
    }
    flight.plan = std::move(plan);
    StepPrograms programs = parts_.host.begin(flight.plan, kernels, machine_);
    flight.done = programs.done;
    StepRecord& record = book_.open(flight.plan, std::move(programs.text), at);
    record.rehearsed = rehearsed;
    for (const RankPlace& rank : place.ranks) record.ranks.push_back(rank.rank);
    for (const ScheduledRequest& r : flight.plan.requests) {
        if (const Request* request = schedulers_[instance].request(r.request)) record.requests.push_back(request->id);
    }
    run_all(std::move(programs.programs), flight.plan, &flight);
    loops_[instance].flying.push_back(std::move(flight));
}

TimeNs ServingRun::carried(std::size_t instance) const {
    const std::vector<ThreadIndex>& workers = parts_.host.places().instances[instance].workers;
    TimeNs first = std::numeric_limits<TimeNs>::max(), last = 0;
    for (const ThreadIndex worker : workers) {
        first = std::min(first, machine_.now(worker));
        last = std::max(last, machine_.now(worker));
    }
    // Ranks are apart by less than this in the ordinary course of things.
    constexpr TimeNs kUsual = 1'000'000;
    return workers.size() > 1 && last - first > kUsual ? last - std::max(first, now(instance)) : 0;
}

void ServingRun::run_all(std::vector<ThreadProgram> programs, const StepPlan& plan, Flight* flight) {
    for (ThreadProgram& p : programs) {
        if (may_act(std::max(machine_.now(p.thread), p.not_before)) && parts_.fault->change_program(p, plan, reach_) && flight != nullptr) flight->changed = true;
        machine_.run(p.thread, std::move(p.program), p.not_before);
    }
    machine_.advance();
}

void ServingRun::finish_step(std::size_t instance) {
    Loop& loop = loops_[instance];
    Flight& flight = loop.flying.front();
    machine_.advance();
    const std::optional<TimeNs> done = machine_.signal_time(flight.done);
    if (!done) {
        stand_still(instance);
        return;
    }
    flight.arrived = *done;
    const StepOutcome outcome = schedulers_[instance].complete(flight.plan, *done);
    const ThreadIndex core = parts_.host.places().instances[instance].core;
    std::optional<TimeNs> rehearsed;
    if (may_act(machine_.now(core))) rehearsed = rehearse_end(machine_, parts_.host, flight.plan, outcome, core);
    run_all(parts_.host.end(flight.plan, outcome, machine_), flight.plan, &flight);
    const TimeNs lost = rehearsed ? machine_.now(core) - *rehearsed : 0;
    if (listener_.completed) listener_.completed(flight.plan, outcome, schedulers_[instance]);
    summary_.tokens_out += outcome.tokens_out;
    StepRecord* record = book_.find(flight.plan.step);
    tell_held(instance, *done);
    std::vector<LogDraft> lines = parts_.voice.stepped({flight.plan, outcome, schedulers_[instance], record->start, machine_.now(core), flight.graphs});
    for (const LogDraft& draft : lines) {
        if (flight.changed && parts_.fault->told_by(draft.text)) record->suspect_logs.push_back(draft.text);
    }
    logs_.add(std::move(lines));
    FrontDoor::Scene s = scene();
    door_.deliver(flight.plan, outcome, schedulers_[instance].take_departed(), machine_.now(core), s, [&](const Request& request) { depart(request); });
    close(flight, lost);
    loop.flying.pop_front();
}

void ServingRun::depart(const Request& request) {
    const auto place = touched_requests_.find(request.number);
    TouchedRequest touched;
    if (place != touched_requests_.end()) touched = std::move(touched_requests_.extract(place).mapped());
    if (touched.label != FaultClass::normal) ++summary_.faulty_requests;
    RequestRecord& record = touched.record;
    record.id = request.id;
    record.end = request.end;
    // What the capture cuts off waited up to its end.
    if (record.where == Waiting::transfer && request.transfer_done == kNull) record.waited = ended_ - request.prefill_done;
    if (record.where == Waiting::nowhere && request.received == kNull && touched.label != FaultClass::normal) {
        record.where = Waiting::front_end;
        record.waited = ended_ - request.sent;
    }
    if (listener_.request) listener_.request(request, touched.label, record);
}

void ServingRun::close(Flight& flight, TimeNs core_lost) {
    StepRecord record = book_.close(flight.plan.step);
    // A step ends with its last device work (DESIGN §6); one that launched nothing with its last host range.
    if (record.end <= record.start) record.end = machine_.step_end(flight.plan.step);
    if (record.end <= record.start) record.end = std::max(record.start + 1, ended_);
    record.touched = record.touched || flight.changed;
    std::vector<SuspectOperator>& latest = loops_[static_cast<std::size_t>(flight.plan.instance)].suspects;
    if (flight.held && record.suspects.empty()) record.suspects = latest;
    if (!record.suspects.empty()) latest = record.suspects;
    const FaultClass label = judge_step(record, {core_lost, flight.expected, flight.arrived, summary_.stuck}, parts_.fault);
    if (label == FaultClass::normal) {
        if (!record.touched) book_.learn(record);
    } else {
        ++summary_.faulty_steps;
        for (const ScheduledRequest& r : record.plan.requests) touched_requests_[r.request].label = label;
    }
    ++summary_.steps;
    if (parts_.fault != nullptr && record.touched) parts_.fault->after_step(record, reach_);
    logs_.add(std::exchange(fault_logs_, {}));
    if (listener_.step) listener_.step(record, label);
}

void ServingRun::wait_for_work(std::size_t instance, TimeNs at) {
    FrontDoor::Scene s = scene();
    std::optional<TimeNs> next = door_.next(s);
    if (next && *next <= at) next = at + 1'000;
    if (!next) {
        bool others = false;
        for (std::size_t i = 0; i < loops_.size(); ++i) others = others || (i != instance && !loops_[i].over && !loops_[i].stuck);
        // Nobody will send any more, and no other instance can hand anything over.
        if (!others || !parts_.options.deployment.prefill_decode) {
            const bool busy = std::any_of(schedulers_.begin(), schedulers_.end(), [](const Scheduler& one) { return one.has_work(); });
            if (!busy) {
                loops_[instance].over = true;
                return;
            }
        }
        next = at + kLookAround;
    }
    TimeNs until = *next;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        if (i != instance && !loops_[i].over && !loops_[i].stuck) until = std::min(until, std::max(now(i), at) + kLookAround);
    }
    run_all(parts_.host.idle(static_cast<InstanceIndex>(instance), std::min(until, parts_.end), machine_), StepPlan{}, nullptr);
    // A host model whose idling costs nothing must not hold the run.
    if (now(instance) <= at) machine_.run(parts_.host.places().instances[instance].core, Program{}, until);
    machine_.advance();
}

void ServingRun::spin(std::size_t instance, TimeNs at) {
    // Live requests and nothing scheduled: the loop turns without tokens (FAULTS E5, E11).
    StepPlan plan;
    plan.instance = static_cast<InstanceIndex>(instance);
    plan.step = ++steps_;
    plan.instance_step = loops_[instance].turns++;
    plan.scheduled = at;
    plan.running = schedulers_[instance].running();
    plan.waiting = schedulers_[instance].waiting();
    plan.blocks_used = schedulers_[instance].blocks_used();
    plan.blocks_total = schedulers_[instance].blocks_total();
    Flight flight;
    flight.plan = plan;
    flight.changed = true;
    StepPrograms programs = parts_.host.begin(plan, {}, machine_);
    StepRecord& record = book_.open(plan, std::move(programs.text), at);
    record.rehearsed = 0;
    for (const RankPlace& rank : parts_.host.places().instances[instance].ranks) record.ranks.push_back(rank.rank);
    run_all(std::move(programs.programs), plan, &flight);
    run_all(parts_.host.end_turn(plan.instance), plan, &flight);
    run_all(parts_.host.idle(plan.instance, now(instance) + kLookAround, machine_), StepPlan{}, nullptr);
    if (now(instance) <= at) machine_.run(parts_.host.places().instances[instance].core, Program{}, at + kLookAround);
    machine_.advance();
    book_.find(plan.step)->end = now(instance);
    close(flight, now(instance) - at);
}

void ServingRun::stand_still(std::size_t instance) {
    loops_[instance].stuck = true;
    summary_.stuck = true;
    TimeNs at = parts_.end;
    if (parts_.fault != nullptr && parts_.fault->stuck(now(instance), at, reach_)) ended_ = std::max(ended_, at);
    logs_.add(std::exchange(fault_logs_, {}));
}

void ServingRun::tell_held(std::size_t instance, TimeNs at) {
    const auto index = static_cast<InstanceIndex>(instance);
    HeldSlots held = may_act(at) ? parts_.fault->held(index, schedulers_[instance], at) : HeldSlots{};
    held.transferring += door_.transferring(index);
    parts_.voice.hold(index, held);
}

void ServingRun::settle(TimeNs at) {
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        if (at - loops_[i].ticked < 500'000'000) continue;
        loops_[i].ticked = at;
        tell_held(i, at);
        std::vector<LogDraft> lines = parts_.voice.tick(static_cast<InstanceIndex>(i), schedulers_[i], at);
        for (LogDraft& line : lines) line.suspect = line.suspect || (may_act(at) && parts_.fault->told_by(line.text));
        logs_.add(std::move(lines));
    }
    logs_.add(std::exchange(fault_logs_, {}));
    logs_.give(at, book_);
    gauges_.tick(at - 200'000'000);
    StepNumber oldest = steps_ + 1;
    std::uint32_t signal = machine_.oldest_needed_signal();
    for (const Loop& loop : loops_) {
        for (const Flight& flight : loop.flying) {
            oldest = std::min(oldest, flight.plan.step);
            signal = std::min(signal, flight.done);
        }
    }
    signal = std::min(signal, door_.oldest_signal());
    machine_.forget_before(oldest, signal);
}

}  // namespace faultline::simulator
