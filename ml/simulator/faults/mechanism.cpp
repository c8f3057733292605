#include "ml/simulator/faults/mechanism.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace faultline::simulator {
namespace {

std::uint64_t salt_of(std::string_view id) {
    std::uint64_t h = 1469598103934665603ULL;
    for (const char c : id) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return h;
}

constexpr TimeNs kLeastTold = 10'000;  ///< a gap below this is none to speak of

double ms(TimeNs time) { return static_cast<double>(time) / 1e6; }

/// The operator that stands for the others: the longest that is not a wait.
const SuspectOperator* chief(const std::vector<SuspectOperator>& suspects) {
    const SuspectOperator* best = nullptr;
    for (const SuspectOperator& s : suspects) {
        if (best == nullptr || s.duration > best->duration) best = &s;
    }
    return best;
}

}  // namespace

Mechanism::Mechanism(FaultSettings settings, const Noise& noise, Manner manner)
    : Fault(std::move(settings)), noise_(noise), manner_(manner), salt_(salt_of(settings_.info->id)) {
    const FaultInfo& info = *settings_.info;
    if (settings_.size <= 0 && info.largest > 0) settings_.size = noise_.log_uniform(info.smallest, info.largest, Draw::fault_size);
}

void Mechanism::configure(RunOptions& options, bool inject) {
    engine_ = options.deployment.engine;
    configure_needs(id(), size(), options);
    if (inject && settings_.info->look_alike) configure_look_alike(id(), size(), options);
    if (manner_.scope == Scope::rank && settings_.ranks.empty()) {
        const auto ranks = static_cast<std::uint64_t>(std::max(options.deployment.tp, 1));
        settings_.ranks = {static_cast<int>(noise_.below(ranks, Draw::fault_choice, salt_, 1))};
    }
}

void Mechanism::begin(FaultReach& reach) {
    engine_ = reach.options.deployment.engine;
    const std::vector<InstancePlaces>& instances = reach.host.places().instances;
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < instances.size(); ++i) {
        const InstanceDuty unfit = manner_.in_prefill ? InstanceDuty::decode_only : InstanceDuty::prefill_only;
        if (instances[i].duty != unfit) fit.push_back(i);
    }
    if (!fit.empty()) instance_ = static_cast<InstanceIndex>(fit[noise_.below(fit.size(), Draw::fault_choice, salt_, 2)]);
    one_instance_ = manner_.scope == Scope::rank || manner_.scope == Scope::core;
    if (manner_.scope == Scope::rank && settings_.ranks.empty()) {
        settings_.ranks = {static_cast<int>(noise_.below(place(reach).workers.size(), Draw::fault_choice, salt_, 1))};
    }
}

TimeNs Mechanism::time_of(const ThreadProgram& program, const FaultReach& reach) {
    return std::max(reach.machine.now(program.thread), program.not_before);
}

int Mechanism::rank_of(const ThreadProgram& program, const FaultReach& reach) {
    if (program.rank >= 0) return program.rank;
    if (program.part == ProgramPart::api) return -1;
    const auto i = static_cast<std::size_t>(program.instance);
    const std::vector<InstancePlaces>& instances = reach.host.places().instances;
    if (i >= instances.size()) return -1;
    const std::vector<ThreadIndex>& workers = instances[i].workers;
    const auto place = std::find(workers.begin(), workers.end(), program.thread);
    return place == workers.end() ? -1 : static_cast<int>(place - workers.begin());
}

bool Mechanism::befalls(InstanceIndex instance, int rank) const {
    if (one_instance_ && instance != instance_) return false;
    return settings_.ranks.empty() || std::find(settings_.ranks.begin(), settings_.ranks.end(), rank) != settings_.ranks.end();
}

bool Mechanism::at_worker(const ThreadProgram& program, const FaultReach& reach) const {
    if (program.part != ProgramPart::worker || program.program.step == 0 || !active(time_of(program, reach))) return false;
    const int rank = rank_of(program, reach);
    return rank >= 0 && befalls(program.instance, rank);
}

bool Mechanism::at_core(const ThreadProgram& program, const FaultReach& reach) const {
    const bool core = program.part == ProgramPart::begin_core || program.part == ProgramPart::end_core || program.part == ProgramPart::worker;
    return core && active(time_of(program, reach)) && (!one_instance_ || program.instance == instance_);
}

const InstancePlaces& Mechanism::place(const FaultReach& reach) const { return reach.host.places().instances[static_cast<std::size_t>(instance_)]; }

ThreadIndex Mechanism::worker(const FaultReach& reach, int rank) const {
    const std::vector<ThreadIndex>& workers = place(reach).workers;
    if (workers.empty()) return place(reach).core;
    return workers[std::min(static_cast<std::size_t>(std::max(rank, 0)), workers.size() - 1)];
}

StreamIndex Mechanism::compute_stream(const ThreadProgram& program, const FaultReach& reach) {
    const std::vector<RankPlace>& ranks = reach.host.places().instances[static_cast<std::size_t>(program.instance)].ranks;
    const int rank = rank_of(program, reach);
    for (const RankPlace& r : ranks) {
        if (r.rank == rank) return r.compute;
    }
    return ranks.empty() ? StreamIndex::none : ranks.front().compute;
}

int Mechanism::device(const FaultReach& reach, int rank) const {
    for (const RankPlace& r : place(reach).ranks) {
        if (r.rank == rank && r.compute != StreamIndex::none) return reach.host.topology().stream(r.compute).device;
    }
    return -1;
}

std::vector<ThreadIndex> Mechanism::all_threads(const FaultReach& reach) {
    std::vector<ThreadIndex> threads;
    for (std::size_t i = 0; i < reach.host.topology().threads.size(); ++i) threads.push_back(static_cast<ThreadIndex>(i));
    return threads;
}

ProcessIndex Mechanism::process(const FaultReach& reach, ThreadIndex thread) {
    return thread == ThreadIndex::none ? ProcessIndex{} : reach.host.topology().thread(thread).process;
}

void Mechanism::write(FaultReach& reach, TimeNs time, ProcessIndex process, LogLevel level, std::string_view file, int line, std::string text,
                      LogLayout layout) {
    reach.logs.push_back({time, process, level, layout, std::string(file), line, std::move(text), true});
}

std::vector<int> Mechanism::culprit_ranks(const StepRecord& record) const {
    if (manner_.scope != Scope::rank && !manner_.roams && settings_.ranks.empty()) return {};
    std::set<int> found;
    for (const SuspectOperator& s : record.suspects) {
        if (s.rank >= 0) found.insert(s.rank);
    }
    if (found.empty() || manner_.scope == Scope::rank) found = {settings_.ranks.begin(), settings_.ranks.end()};
    return {found.begin(), found.end()};
}

std::string Mechanism::other_line(const StepRecord&) const { return {}; }
std::string Mechanism::culprit_words(const StepRecord&) const { return {}; }

std::string Mechanism::explain(const StepRecord& record) const {
    const StepPlan& plan = record.plan;
    std::string step = record.text.empty() ? fmt::format("Step {}", plan.instance_step) : fmt::format("Step {} ({})", plan.instance_step, record.text);
    if (!record.requests.empty()) {
        step += fmt::format(" with {}", record.requests.front());
        if (record.requests.size() > 1) step += fmt::format(" and {} more", record.requests.size() - 1);
    }
    const TimeNs took = record.end - record.start;
    std::string against;
    if (record.usual != kNull) {
        against = fmt::format("against P99 {:.2f} ms", ms(record.usual));
    } else if (record.rehearsed != kNull && record.rehearsed > 0) {
        against = fmt::format("against {:.2f} ms expected", ms(record.rehearsed));
    } else {
        against = "with no comparable step before it";
    }
    const std::string length = record.stuck > 0 ? fmt::format("had not ended after {:.1f} s, when the capture did,", ms(record.stuck) / 1000) : fmt::format("took {:.2f} ms", ms(took));
    std::string text = fmt::format("{} {} {} for the same {}/{} tokens; ", step, length, against, plan.context_tokens, plan.generation_tokens);

    const std::vector<int> culprits = culprit_ranks(record);
    std::string who = "all ranks show";
    if (std::string own = culprit_words(record); !own.empty()) who = std::move(own);
    else if (manner_.scope == Scope::front_end) who = "the API server shows";
    else if (!culprits.empty()) who = fmt::format("rank {} shows", culprits.front());
    else if (manner_.scope == Scope::core) who = "the engine's main loop shows";
    else if (record.ranks.size() == 1) who = fmt::format("rank {} shows", record.ranks.front());
    const SuspectOperator* s = chief(record.suspects);
    const TimeNs expected = record.rehearsed != kNull ? record.rehearsed : record.usual;
    const TimeNs lost = record.stuck > 0 ? record.stuck : expected != kNull ? std::max<TimeNs>(took - expected, 0) : took;
    if (s == nullptr) {
        text += fmt::format("{} a gap of {:.2f} ms before the step's first operator", who, ms(lost));
    } else if (manner_.gap && lost >= kLeastTold) {
        text += fmt::format("{} a gap of {:.2f} ms at {}", who, ms(lost), s->name);
    } else {
        text += fmt::format("{} an operator of {:.3f} ms at {}", who, ms(s->duration), s->name);
        if (record.suspects.size() > 1) text += fmt::format(" (one of {} marked)", record.suspects.size());
    }
    if (!record.waiting_in.empty() && record.ranks.size() > 1 && manner_.scope == Scope::rank && 4 * record.longest_wait > lost) {
        text += fmt::format(" while peers wait up to {:.3f} ms in {}", ms(record.longest_wait), record.waiting_in);
    }
    const std::string other = other_line(record);
    if (!record.suspect_logs.empty()) {
        text += fmt::format("; the log says: {}", record.suspect_logs.front().substr(0, record.suspect_logs.front().find('\n')));
    } else {
        text += "; " + (other.empty() ? std::string("no log line names it") : other);
    }
    return text + fmt::format("; ruled out: {}.", settings_.info->ruled_out);
}

std::string Mechanism::explain(const RequestRecord& record) const {
    const bool transfer = record.where == Waiting::transfer;
    const std::string waited = record.waited == kNull ? std::string("an unknown time") : fmt::format("{:.2f} ms", ms(record.waited));
    std::string text = fmt::format("Request {} waited {} {} ", record.id, waited, transfer ? "between its prefill and its first decode step" : "before the scheduler had it");
    text += record.usual != kNull ? fmt::format("against P99 {:.2f} ms of the requests before it; ", ms(record.usual)) : "with too few requests before it to compare; ";
    const SuspectOperator* s = chief(record.suspects);
    if (transfer) {
        text += s == nullptr ? fmt::format("its KV cache shows a gap of {}", waited) : fmt::format("its KV cache shows a gap of {} after {} in {}", waited, s->name, s->process_name);
        if (record.end == RequestEnd::failed) text += ", and the request failed";
    } else if (s == nullptr) {
        text += "the API server shows a gap before the request was handed over";
    } else {
        text += fmt::format("the API server shows an operator of {:.2f} ms at {}", ms(s->duration), s->name);
        if (record.suspects.size() > 1) text += fmt::format(" (one of {} that held it)", record.suspects.size());
    }
    text += record.logs.empty() ? std::string("; no log line names it") : fmt::format("; the log says: {}", record.logs.front().substr(0, record.logs.front().find('\n')));
    return text + fmt::format("; ruled out: {}.", settings_.info->ruled_out);
}

}  // namespace faultline::simulator
