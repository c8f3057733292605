#include "ml/simulator/serving/front_door.h"

#include <algorithm>
#include <utility>

#include "ml/simulator/device/cards.h"
#include "ml/simulator/serving/percentile.h"

namespace faultline::simulator {
namespace {

/// A KV cache over RDMA: handshake, then the blocks at 20 GB/s (FAULTS D8 is what is far above that).
constexpr TimeNs kTransferHandshake = 3'000'000;
constexpr double kTransferBytesPerNs = 20;
/// Behind somebody else's work in the API server a request is held when it waits for so long.
constexpr TimeNs kLeastHold = 1'000'000;
constexpr std::size_t kHolding = 64, kWaits = 400, kComparable = 20;

std::vector<InstanceIndex> instances_with(const Places& places, InstanceDuty duty) {
    std::vector<InstanceIndex> found;
    for (std::size_t i = 0; i < places.instances.size(); ++i) {
        if (places.instances[i].duty == duty) found.push_back(static_cast<InstanceIndex>(i));
    }
    return found;
}

}  // namespace

void UsualWait::add(TimeNs wait) {
    waits_.push_back(wait);
    if (waits_.size() > kWaits) waits_.pop_front();
}

TimeNs UsualWait::p99() const {
    if (waits_.size() < kComparable) return kNull;
    return simulator::p99({waits_.begin(), waits_.end()});
}

FrontDoor::FrontDoor(const RunOptions& options, const Noise& noise, const Places& places, TimeNs start)
    : options_(options),
      noise_(noise),
      homes_(instances_with(places, InstanceDuty::decode_only)),
      prefillers_(instances_with(places, InstanceDuty::prefill_only)),
      arrivals_(options, noise, start) {
    if (homes_.empty()) homes_ = instances_with(places, InstanceDuty::both);
}

void FrontDoor::send(TimeNs until, Scene& scene) {
    for (std::optional<TimeNs> next = arrivals_.next_time(); next && *next <= until; next = arrivals_.next_time()) {
        Request request = arrivals_.take();
        ++sent_;
        request.instance = homes_[request.number % homes_.size()];
        request.prefill_instance = prefillers_.empty() ? request.instance : prefillers_[request.number % prefillers_.size()];
        const std::uint32_t arrived = scene.machine.new_signal();
        const double factor = scene.fault != nullptr ? scene.fault->tokenize_factor(request, request.sent) : 1;
        if (factor > 1) scene.touched[request.number].label = scene.fault->settings().info->type;
        ThreadProgram program = scene.host.arrival(request, arrived, scene.machine, factor);
        if (program.thread == ThreadIndex::none) {  // no API server: the core takes it
            scene.machine.set_signal(arrived, request.sent);
        } else {
            run_outside(std::move(program), request, Waiting::front_end, scene);
        }
        coming_.push_back({arrived, std::move(request)});
    }
    scene.machine.advance();
}

void FrontDoor::run_outside(ThreadProgram program, const Request& request, Waiting where, Scene& scene) {
    const bool changed = scene.fault != nullptr && scene.fault->change_program(program, StepPlan{}, scene.reach);
    const TimeNs from = program.not_before;
    scene.machine.run(program.thread, std::move(program.program), from);
    if (!changed) return;
    scene.machine.advance();
    for (SuspectOperator& s : scene.book.take_outside()) {
        if (s.start < from) continue;
        TouchedRequest& touched = scene.touched[request.number];
        touched.label = scene.fault->settings().info->type;
        touched.record.where = where;
        touched.record.suspects.push_back(s);
        if (where != Waiting::front_end) continue;
        holding_.push_back(std::move(s));
        if (holding_.size() > kHolding) holding_.erase(holding_.begin());
    }
}

/// With the scheduler after all: was it held on the way, by its own work or by that of others before it?
void FrontDoor::arrive(const Request& request, TimeNs time, Scene& scene) {
    const TimeNs waited = time - request.sent;
    for (const SuspectOperator& s : holding_) {
        const TimeNs overlap = std::min(time, s.start + s.duration) - std::max(request.sent, s.start);
        if (overlap < kLeastHold) continue;
        TouchedRequest& touched = scene.touched[request.number];
        const auto same = [&](const SuspectOperator& own) { return own.start == s.start && own.process == s.process; };
        if (std::any_of(touched.record.suspects.begin(), touched.record.suspects.end(), same)) continue;
        touched.label = scene.fault->settings().info->type;
        touched.record.suspects.push_back(s);
    }
    const auto place = scene.touched.find(request.number);
    if (place == scene.touched.end()) {
        front_wait_.add(waited);
        return;
    }
    place->second.record.where = Waiting::front_end;
    place->second.record.waited = waited;
    place->second.record.usual = front_wait_.p99();
}

void FrontDoor::refuse(Request request, TimeNs time, Scene& scene, const std::function<void(const Request&)>& done) {
    request.end = RequestEnd::failed;
    request.ended = time;
    scene.logs.add(scene.voice.departed(request, time));
    arrivals_.answered(request, time);
    done(request);
}

int FrontDoor::transferring(InstanceIndex to) const {
    return static_cast<int>(std::count_if(transfers_.begin(), transfers_.end(), [&](const Transfer& t) { return t.request.instance == to; }));
}

void FrontDoor::bring(TimeNs now, Scene& scene, const std::function<void(const Request&)>& done) {
    send(now, scene);
    std::erase_if(coming_, [&](OnItsWay& way) {
        const std::optional<TimeNs> time = scene.machine.signal_time(way.signal);
        if (!time || *time > now) return false;
        arrive(way.request, *time, scene);
        scene.logs.add(scene.voice.arrived(way.request, *time));
        scene.schedulers[static_cast<std::size_t>(way.request.prefill_instance)].add(std::move(way.request), *time);
        return true;
    });
    std::erase_if(transfers_, [&](Transfer& t) {
        if (t.arrives > now) return false;
        t.request.transfer_done = t.arrives;
        if (t.end == TransferEnd::refused) {
            refuse(std::move(t.request), t.arrives, scene, done);
            return true;
        }
        if (t.end == TransferEnd::lost) t.request.computed = 0;
        scene.schedulers[static_cast<std::size_t>(t.request.instance)].add(std::move(t.request), t.arrives);
        return true;
    });
    for (const auto& [request, instance] : leaving_) scene.schedulers[static_cast<std::size_t>(instance)].abort(request, now);
    leaving_.clear();
}

std::optional<TimeNs> FrontDoor::next(Scene& scene) {
    std::optional<TimeNs> soonest;
    const auto take = [&](std::optional<TimeNs> time) {
        if (time && (!soonest || *time < *soonest)) soonest = time;
    };
    for (const OnItsWay& way : coming_) take(scene.machine.signal_time(way.signal));
    for (const Transfer& t : transfers_) take(t.arrives);
    take(arrivals_.next_time());
    return soonest;
}

std::vector<const Request*> FrontDoor::on_their_way() const {
    std::vector<const Request*> all;
    for (const OnItsWay& way : coming_) all.push_back(&way.request);
    for (const Transfer& t : transfers_) all.push_back(&t.request);
    return all;
}

std::uint32_t FrontDoor::oldest_signal() const {
    std::uint32_t oldest = kNoSignal;
    for (const OnItsWay& way : coming_) oldest = std::min(oldest, way.signal);
    return oldest;
}

void FrontDoor::transfer(Request request, TimeNs time, Scene& scene) {
    const ModelCard* model = model_named(options_.deployment.model);
    const double bytes = model != nullptr ? static_cast<double>(model->kv_bytes_per_token()) * request.prompt_tokens : 0;
    const TimeNs usual =
        noise_.jitter(kTransferHandshake + static_cast<TimeNs>(bytes / kTransferBytesPerNs), 0.25, Draw::network_jitter, request.number, 77);
    const TimeNs taken = scene.fault != nullptr ? scene.fault->transfer_time(request, usual, time) : usual;
    request.prefill_done = time;
    ThreadProgram order = scene.host.take_over(request, time);
    if (order.thread != ThreadIndex::none) run_outside(std::move(order), request, Waiting::transfer, scene);
    TransferEnd end = TransferEnd::arrives;
    if (taken == usual) {
        transfer_wait_.add(taken);
    } else {
        const std::size_t lines = scene.reach.logs.size();
        end = scene.fault->transfer_end(request, time, time + taken, scene.reach);
        TouchedRequest& touched = scene.touched[request.number];
        touched.label = scene.fault->settings().info->type;
        touched.record.where = Waiting::transfer;
        touched.record.waited = taken;
        touched.record.usual = transfer_wait_.p99();
        for (std::size_t i = lines; i < scene.reach.logs.size(); ++i) touched.record.logs.push_back(scene.reach.logs[i].text);
    }
    transfers_.push_back({time + taken, std::move(request), end});
}

void FrontDoor::deliver(const StepPlan& plan, const StepOutcome& outcome, std::vector<Request> departed, TimeNs time, Scene& scene,
                        const std::function<void(const Request&)>& done) {
    send(time, scene);  // what came before it is served before it
    const Scheduler& scheduler = scene.schedulers[static_cast<std::size_t>(plan.instance)];
    for (const ScheduledRequest& s : plan.requests) {
        const Request* r = scheduler.request(s.request);
        if (r != nullptr && r->abort_after >= 0 && r->generated >= r->abort_after && r->end == RequestEnd::running) {
            leaving_.emplace_back(s.request, plan.instance);
        }
    }
    TimeNs answered = time;
    if (outcome.tokens_out > 0) {
        const std::uint32_t sent = scene.machine.new_signal();
        bool any = false;
        for (ThreadProgram& program :
             scene.host.deliver(static_cast<int>(plan.requests.size()), outcome.tokens_out, time, sent, scene.machine)) {
            if (scene.fault != nullptr) scene.fault->change_program(program, StepPlan{}, scene.reach);
            scene.machine.run(program.thread, std::move(program.program), program.not_before);
            any = true;
        }
        if (any) scene.machine.advance();
        answered = scene.machine.signal_time(sent).value_or(time);
    }
    for (Request& request : departed) {
        const bool prefilled = std::find(outcome.prefilled.begin(), outcome.prefilled.end(), request.number) != outcome.prefilled.end();
        if (prefilled) {
            transfer(std::move(request), time, scene);
            continue;
        }
        scene.logs.add(scene.voice.departed(request, answered));
        arrivals_.answered(request, answered);
        done(request);
    }
}

}  // namespace faultline::simulator
