#include "ml/simulator/serving/step_book.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "ml/simulator/serving/percentile.h"

namespace faultline::simulator {
namespace {

/// Of one role on one rank in one step, so many stand for all: a slow GPU marks hundreds of kernels.
constexpr int kMarksOfARole = 4;
constexpr std::size_t kMarksOfAStep = 96;
constexpr std::size_t kHistory = 400;
constexpr std::size_t kComparable = 20;
constexpr std::size_t kOutside = 64, kUntold = 16;  ///< that are kept until somebody asks

SpanKind span_kind(EventKind kind) {
    switch (kind) {
        case EventKind::range: return SpanKind::range;
        case EventKind::op: return SpanKind::op;
        case EventKind::python: return SpanKind::python;
        case EventKind::runtime_call: return SpanKind::runtime_call;
        case EventKind::driver_call: return SpanKind::driver_call;
        case EventKind::kernel: return SpanKind::kernel;
        case EventKind::memory_copy: return SpanKind::memory_copy;
        case EventKind::memory_set: return SpanKind::memory_set;
    }
    return SpanKind::other;
}

bool on_device(EventKind kind) { return kind == EventKind::kernel || kind == EventKind::memory_copy || kind == EventKind::memory_set; }

}  // namespace

StepBook::StepBook(const Topology& topology, const Names& names, Sink& next, std::function<std::string(ProcessIndex)> file_of)
    : PassingSink(next), topology_(topology), names_(names), file_of_(std::move(file_of)) {}

const StepBook::Named& StepBook::named(const Event& event) {
    const SpanKind kind = span_kind(event.kind);
    const auto layer_of = [&](std::string_view name) {
        const LayerClass found = layers_.classify(kind, name);
        // What no rule names takes the class of what holds it: inside a step that is the backend's work.
        return std::string(found == LayerClass::none ? "backend" : layer_class_name(found));
    };
    if (!event.text.empty()) {
        unnamed_ = {std::string(event.text), layer_of(event.text)};
        return unnamed_;
    }
    const std::uint64_t key = static_cast<std::uint64_t>(event.name) << 8 | static_cast<std::uint64_t>(event.kind);
    const auto [place, added] = named_.try_emplace(key);
    if (added) {
        const std::string_view name = names_.text(event.name);
        place->second = {std::string(name), layer_of(name)};
    }
    return place->second;
}

void StepBook::event(const Event& event) {
    next_.event(event);
    if (event.step == 0 && event.suspect && (event.name != Name::none || !event.text.empty()) && outside_.size() < kOutside) {
        outside_.push_back(operator_of(event, topology_.process(event.process).rank));
    }
    const auto place = open_.find(event.step);
    if (place == open_.end()) return;
    StepRecord& record = place->second;
    const TimeNs end = event.start + event.duration;
    if (on_device(event.kind)) record.end = std::max(record.end, end);
    if (event.cut) record.stuck = std::max(record.stuck, end - record.start);
    if (event.group_size > 1 && event.duration > record.longest_wait) {
        record.longest_wait = event.duration;
        record.waiting_rank = topology_.device_of(event.stream).rank;
        record.waiting_in = named(event).name;
    }
    if (event.suspect) mark(record, event);
}

void StepBook::mark(StepRecord& record, const Event& event) {
    record.touched = true;
    if (event.name == Name::none && event.text.empty()) return;  // not in the capture
    const ProcessInfo& process = topology_.process(event.process);
    const int rank = event.stream != StreamIndex::none && on_device(event.kind) ? topology_.device_of(event.stream).rank : process.rank;
    int of_role = 0;
    for (const SuspectOperator& s : record.suspects) {
        if (s.role == event.role && s.rank == rank && s.kind == event.kind) ++of_role;
    }
    if (of_role >= kMarksOfARole || record.suspects.size() >= kMarksOfAStep) return;
    record.suspects.push_back(operator_of(event, rank));
    record.suspects.back().group = of_role;
}

SuspectOperator StepBook::operator_of(const Event& event, int rank) {
    const ProcessInfo& process = topology_.process(event.process);
    const Named& name = named(event);
    return {event.process, process.title, process.pid, file_of_ ? file_of_(event.process) : std::string{}, rank, event.kind, event.role,
            event.layer, name.layer, name.name, event.correlation, event.external, event.start, event.duration, 0};
}

void StepBook::log(const LogEntry& entry) {
    next_.log(entry);
    if (!entry.suspect) return;
    for (auto& [step, record] : open_) record.suspect_logs.emplace_back(entry.text);
    if (open_.empty() && untold_.size() < kUntold) untold_.emplace_back(entry.text);
}

StepRecord& StepBook::open(const StepPlan& plan, std::string text, TimeNs start) {
    StepRecord& record = open_[plan.step];
    record.plan = plan;
    record.text = std::move(text);
    record.start = record.end = start;
    record.suspect_logs = std::exchange(untold_, {});
    return record;
}

StepRecord* StepBook::find(StepNumber step) {
    const auto place = open_.find(step);
    return place == open_.end() ? nullptr : &place->second;
}

StepRecord StepBook::close(StepNumber step) {
    const auto place = open_.find(step);
    assert(place != open_.end());
    StepRecord record = std::move(place->second);
    open_.erase(place);
    record.usual = usual(record);
    return record;
}

std::deque<StepBook::Usual>& StepBook::history(const StepPlan& plan) {
    return usual_[{static_cast<int>(plan.instance), static_cast<int>(plan.kind)}];
}

void StepBook::learn(const StepRecord& record) {
    std::deque<Usual>& past = history(record.plan);
    const StepPlan& plan = record.plan;
    past.push_back({plan.tokens, plan.context_kv + plan.generation_kv, plan.context_tokens, plan.generation_tokens, record.end - record.start});
    if (past.size() > kHistory) past.pop_front();
}

TimeNs StepBook::usual(const StepRecord& record) const {
    const StepPlan& plan = record.plan;
    const auto place = usual_.find({static_cast<int>(plan.instance), static_cast<int>(plan.kind)});
    if (place == usual_.end()) return kNull;
    std::vector<TimeNs> durations;
    const auto near = [](std::int64_t a, std::int64_t b) { return 10 * std::abs(a - b) <= 2 * std::max(a, b) + 10; };
    for (const Usual& u : place->second) {
        if (near(u.context, plan.context_tokens) && near(u.generation, plan.generation_tokens) &&
            near(u.kv, plan.context_kv + plan.generation_kv)) {
            durations.push_back(u.duration);
        }
    }
    if (durations.size() < kComparable) return kNull;
    return p99(std::move(durations));
}

}  // namespace faultline::simulator
