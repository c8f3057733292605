#include "core/analyse_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/bubbles.h"
#include "core/device_busy.h"
#include "core/own_time.h"
#include "core/roofline.h"
#include "core/stack_places.h"
#include "core/stalls.h"
#include "core/step_parts.h"
#include "core/structure.h"

namespace faultline {

namespace {

constexpr std::size_t kMostBubbles = 200'000;  ///< beyond it only longer ones are kept
constexpr double kBoundBy = 1.25;              ///< the biggest share of a step's time bounds it where it is this much bigger than the next
constexpr double kHiddenShare = 0.3;           ///< of a step spent in graphs whose kernels are not seen: its bound is not known
constexpr std::int64_t kIdleNeeded = 6;        ///< judged steps of an instance that the idle time of others is held against
constexpr std::size_t kAlikeNeeded = 4;        ///< steps of one phase whose collectives are held against each other
constexpr TimeNs kIdleTimes = 3;               ///< so many times the most idle of them
constexpr double kSloCommon = 1.0 / 3;         ///< of the steps over a limit: that is how the service is, no step is out of line

std::string milliseconds(TimeNs ns) {
    if (ns >= 10'000'000'000) return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
    return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
}

/// Busy time of the devices at the borders of the steps' own times.
class StepTimes {
public:
    explicit StepTimes(std::span<const TimeRange> ranges) {
        for (const TimeRange& s : ranges) {
            times_.push_back(s.start);
            times_.push_back(s.end);
        }
        std::sort(times_.begin(), times_.end());
        times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    }
    [[nodiscard]] std::span<const TimeNs> times() const noexcept { return times_; }
    [[nodiscard]] TimeNs busy_in(const DeviceBusy& device, TimeRange own) const {
        return device.busy_until[position(own.end)] - device.busy_until[position(own.start)];
    }

private:
    [[nodiscard]] std::size_t position(TimeNs t) const {
        return static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), t) - times_.begin());
    }
    std::vector<TimeNs> times_;
};

/// Bubbles by what they mean for a step.
struct StepIdle {
    TimeNs communication = 0, unknown = 0;
    const Bubble* longest = nullptr;
};

class Analysis {
public:
    Analysis(const CaptureReader& capture, const SpanIndex& index, const LayerRules& layers, std::span<const Request> requests,
             const AnalysisOptions& options, std::stop_token stop)
        : capture_(capture), index_(index), layers_(layers), requests_(requests), options_(options), stop_(std::move(stop)) {}

    Result<CaptureAnalysis> run() {
        Result<std::vector<Step>> steps = capture_.steps();
        if (!steps) return tl::unexpected<Error>(steps.error());
        steps_ = std::move(*steps);
        own_ = own_ranges(steps_);
        Rooflines rooflines = fit_rooflines(steps_, options_);
        Result<CountedSteps> counted = count_parts(capture_, index_, layers_, steps_, stop_);
        if (!counted) return tl::unexpected<Error>(counted.error());
        counted_ = std::move(*counted);
        if (Result<void> ok = find_bubbles(); !ok) return tl::unexpected<Error>(ok.error());
        std::vector<std::uint8_t> cold;
        for (const StepExpectation& e : rooflines.expectations) cold.push_back(e.cold ? 1 : 0);
        structure_ = judge_structure(capture_, steps_, counted_.steps, cold);
        find_late_tokens();
        out_.rooflines = std::move(rooflines.lines);
        gather_idle();
        judge_by_idle(rooflines.expectations);
        judge_by_collectives(rooflines.expectations);
        for (std::size_t i = 0; i < steps_.size(); ++i) out_.verdicts.push_back(verdict(i, rooflines.expectations[i]));
        if (Result<void> ok = add_stalls(); !ok) return tl::unexpected<Error>(ok.error());
        out_.parameters = parameters();
        return std::move(out_);
    }

private:
    Result<void> find_bubbles() {
        const StepTimes times(own_);
        bubble_least_ = std::max<TimeNs>(1, options_.bubble_least_ns);
        devices_ = device_busy(index_, bubble_least_, times.times());
        while (bubble_count() > kMostBubbles) {
            bubble_least_ *= 2;
            for (DeviceBusy& d : devices_) std::erase_if(d.gaps, [this](const DeviceGap& g) { return g.duration() < bubble_least_; });
        }
        for (const TimeRange& own : own_) {
            auto& busy = busy_.emplace_back();
            for (const StepDevice& d : counted_.steps[busy_.size() - 1].devices)
                for (const DeviceBusy& device : devices_)
                    if (device.device == d.device) busy.push_back({d, times.busy_in(device, own)});
        }
        Result<std::vector<HiddenGraph>> hidden = hidden_graphs(capture_, index_);
        if (!hidden) return tl::unexpected<Error>(hidden.error());
        for (const HiddenGraph& h : *hidden)
            if (h.step != kNull) hides_[h.step] = true;
        Result<std::vector<StackSample>> stacks = capture_.stack_samples();
        if (!stacks) return tl::unexpected<Error>(stacks.error());
        place_stacks(capture_, *stacks);
        Result<std::vector<Bubble>> bubbles =
            explain_gaps({capture_, index_, layers_, steps_, counted_, devices_, *stacks, *hidden}, stop_);
        if (!bubbles) return tl::unexpected<Error>(bubbles.error());
        out_.bubbles = std::move(*bubbles);
        return {};
    }

    [[nodiscard]] std::size_t bubble_count() const {
        std::size_t count = 0;
        for (const DeviceBusy& d : devices_) count += d.gaps.size();
        return count;
    }

    void gather_idle() {
        for (const Bubble& b : out_.bubbles) {
            if (!b.step) continue;
            StepIdle& idle = idle_[{index_of(*b.step), b.device}];
            if (b.cause == BubbleCause::communication) idle.communication += b.duration;
            if (b.cause == BubbleCause::unknown) idle.unknown += b.duration;
            if (!idle.longest || b.duration > idle.longest->duration) idle.longest = &b;
        }
    }

    StepVerdict verdict(std::size_t i, const StepExpectation& expectation) {
        const Step& step = steps_[i];
        StepVerdict v;
        v.step = step.id;
        v.expected_ns = expectation.expected;
        v.rule = expectation.cold && expectation.expected ? expectation.rule + ", first step" : expectation.rule;
        const TimeNs duration = own_[i].duration();
        v.own_ns = duration;
        if (v.expected_ns && *v.expected_ns > 0) v.ratio = static_cast<double>(duration) / static_cast<double>(*v.expected_ns);
        v.bound = bound(i);
        const bool slow = v.expected_ns && !expectation.cold && duration > expectation.slow_beyond;
        if (slow) v.reasons |= reason_slow;
        if (structure_[i].structure) v.reasons |= reason_structure;
        if (structure_[i].contradiction) v.reasons |= reason_contradiction;
        if (over_slo_[i]) v.reasons |= reason_slo;
        v.outlier = (v.reasons & ~static_cast<std::uint32_t>(reason_slo)) != 0 || (over_slo_[i] && !slo_common_);
        if (slow)
            v.sentence = slow_sentence(i, v) + (structure_[i].structure ? "; " + structure_[i].structure_sentence : std::string());
        else if (structure_[i].contradiction)
            v.sentence = structure_[i].contradiction_sentence;
        else if (structure_[i].structure)
            v.sentence = structure_[i].structure_sentence;
        else if (v.outlier)
            v.sentence = slo_sentences_[i];
        return v;
    }

    [[nodiscard]] std::string slow_sentence(std::size_t i, const StepVerdict& v) const {
        const Step& step = steps_[i];
        const TimeNs duration = own_[i].duration();
        std::string text = fmt::format("{} instead of {}", milliseconds(duration), milliseconds(*v.expected_ns));
        if (step.tokens) text += fmt::format(" for {} tokens", *step.tokens);
        const StepIdle* worst = nullptr;
        for (const auto& d : busy_[i]) {
            const auto idle = idle_.find({index_of(step.id), d.device.device});
            if (idle != idle_.end() && idle->second.longest && (!worst || idle->second.longest->duration > worst->longest->duration))
                worst = &idle->second;
        }
        const TimeNs excess = duration - *v.expected_ns;
        if (worst && 2 * worst->longest->duration > excess) {
            text += fmt::format("; {} was idle for {}", device_text(i, worst->longest->device), milliseconds(worst->longest->duration));
            const auto place = worst->longest->host_span.valid() ? index_.place(worst->longest->host_span) : std::nullopt;
            if (place)
                text += fmt::format(" under {}", capture_.name(place->lane->names[place->at]));
            else if (worst->longest->cause == BubbleCause::cpu)
                text += ", since its host launched nothing";
        } else if (v.bound == StepBound::communication) {
            text += "; most of it went into collectives";
        } else if (v.bound == StepBound::gpu) {
            text += "; the device was busy most of the time";
        } else if (v.bound == StepBound::cpu) {
            text += fmt::format("; the device was idle for {} of it, in short pieces", milliseconds(duration - culprit(i).busy));
        }
        return text;
    }

    /// The rank is said where a step has several devices.
    [[nodiscard]] std::string device_text(std::size_t i, DeviceId id) const {
        const Device* const device = capture_.device(id);
        if (busy_[i].size() < 2 || !device) return "the device";
        const Source* const source = capture_.source(device->source);
        if (source && source->rank) return fmt::format("the device of rank {}", *source->rank);
        return fmt::format("device {}", device->ordinal);
    }

    struct Busy {
        StepDevice device;
        TimeNs busy = 0;  ///< device work inside the step's time
    };

    /// Of several ranks the one that waits least in collectives is the one that the others wait for: it bounds the step.
    [[nodiscard]] const Busy& culprit(std::size_t i) const {
        return *std::min_element(busy_[i].begin(), busy_[i].end(),
                                 [](const Busy& a, const Busy& b) { return a.device.collective_ns < b.device.collective_ns; });
    }

    [[nodiscard]] StepBound bound(std::size_t i) const {
        const Step& step = steps_[i];
        const auto duration = static_cast<double>(own_[i].duration());
        if (busy_[i].empty() || duration <= 0 || hides_.contains(index_of(step.id))) return StepBound::unknown;
        const Busy& device = culprit(i);
        if (static_cast<double>(device.device.graph_ns) > kHiddenShare * duration) return StepBound::unknown;
        const auto idle_of = idle_.find({index_of(step.id), device.device.device});
        const StepIdle known = idle_of == idle_.end() ? StepIdle{} : idle_of->second;
        const double busy = static_cast<double>(device.busy), idle = std::max(0.0, duration - busy);
        const double collective = std::min(busy, static_cast<double>(device.device.collective_ns));
        const double unknown = std::min(idle, static_cast<double>(known.unknown));
        const double waiting = std::min(idle - unknown, static_cast<double>(known.communication));
        std::pair<double, StepBound> shares[] = {{idle - unknown - waiting, StepBound::cpu},
                                                 {busy - collective, StepBound::gpu},
                                                 {collective + waiting, StepBound::communication},
                                                 {unknown, StepBound::unknown}};
        std::sort(std::begin(shares), std::end(shares), [](const auto& a, const auto& b) { return a.first > b.first; });
        return shares[0].first >= kBoundBy * shares[1].first ? shares[0].second : StepBound::balanced;
    }

    /// Time of its own in which the device that bounds the i-th step did nothing; nothing where that cannot be seen.
    [[nodiscard]] std::optional<TimeNs> idle_of(std::size_t i) const {
        if (steps_[i].inferred || busy_[i].empty() || hides_.contains(index_of(steps_[i].id))) return std::nullopt;
        if (std::any_of(busy_[i].begin(), busy_[i].end(), [](const Busy& b) { return b.device.graph_ns > 0; })) return std::nullopt;
        return std::max<TimeNs>(0, own_[i].duration() - culprit(i).busy);
    }

    /// The longest single gap of the i-th step.
    [[nodiscard]] TimeNs longest_gap(std::size_t i) const {
        TimeNs longest = 0;
        for (const Busy& b : busy_[i])
            if (const auto idle = idle_.find({index_of(steps_[i].id), b.device.device}); idle != idle_.end() && idle->second.longest)
                longest = std::max(longest, idle->second.longest->duration);
        return longest;
    }

    /// Too few steps like it to say how long a step should last: held against the idle time of its device in all other steps of the
    /// instance, those of its own phase among them. What they all have is no fault; three times the most of them, in one long gap, is.
    void judge_by_idle(std::vector<StepExpectation>& expectations) const {
        struct Known {
            std::int64_t steps = 0;
            TimeNs most = 0, second = 0;  ///< the second for the step that has the most
            std::size_t of = 0;
        };
        std::map<std::string_view, Known> by_instance;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const StepExpectation& e = expectations[i];
            const std::optional<TimeNs> idle = idle_of(i);
            if (!idle || e.cold || (e.expected && own_[i].duration() > e.slow_beyond)) continue;
            Known& known = by_instance[steps_[i].instance];
            known.steps += e.expected.has_value();
            if (*idle > known.most) {
                known.second = known.most;
                known.most = *idle;
                known.of = i;
            } else {
                known.second = std::max(known.second, *idle);
            }
        }
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            StepExpectation& e = expectations[i];
            const auto known = by_instance.find(steps_[i].instance);
            if (e.expected || e.cold || known == by_instance.end() || known->second.steps < kIdleNeeded) continue;
            const TimeNs idle = idle_of(i).value_or(0), usual = known->second.of == i ? known->second.second : known->second.most;
            if (idle <= kIdleTimes * usual || idle - usual < options_.slow_least_ns || longest_gap(i) < options_.slow_least_ns) continue;
            e.expected = own_[i].duration() - idle + usual;
            e.slow_beyond = *e.expected;
            e.rule = fmt::format("idle against {} steps", known->second.steps);
        }
    }

    /// The same for collectives, a token, among the steps of one phase: what a few of them need for theirs, one that needs three times as
    /// much does not.
    void judge_by_collectives(std::vector<StepExpectation>& expectations) const {
        std::map<std::pair<std::string_view, StepPhase>, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < steps_.size(); ++i)
            if (const StepExpectation& e = expectations[i]; !e.expected && !e.cold && !busy_[i].empty() && steps_[i].tokens.value_or(0) > 0)
                groups[{steps_[i].instance, steps_[i].phase}].push_back(i);
        const auto rate = [&](std::size_t i) {
            return static_cast<double>(culprit(i).device.collective_ns) / static_cast<double>(*steps_[i].tokens);
        };
        for (const auto& [key, of] : groups) {
            if (of.size() < kAlikeNeeded) continue;
            for (const std::size_t i : of) {
                double usual = 0;
                for (const std::size_t other : of)
                    if (other != i) usual = std::max(usual, rate(other));
                const TimeNs took = culprit(i).device.collective_ns;
                const auto should = static_cast<TimeNs>(usual * static_cast<double>(*steps_[i].tokens));
                if (should == 0 || took <= kIdleTimes * should || took - should < options_.slow_least_ns) continue;
                expectations[i].expected = own_[i].duration() - took + should;
                expectations[i].slow_beyond = *expectations[i].expected;
                expectations[i].rule = fmt::format("collectives against {} steps", of.size() - 1);
            }
        }
    }

    /// Requests and tokens over the limits, at the steps that they waited for.
    void find_late_tokens() {
        over_slo_.assign(steps_.size(), false);
        slo_sentences_.resize(steps_.size());
        std::unordered_map<std::int64_t, std::size_t> positions;
        for (std::size_t i = 0; i < steps_.size(); ++i) positions[index_of(steps_[i].id)] = i;
        for (const Request& r : requests_) {
            std::vector<std::size_t> own;
            for (const StepId id : r.steps)
                if (const auto at = positions.find(index_of(id)); at != positions.end()) own.push_back(at->second);
            std::sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) { return steps_[a].end < steps_[b].end; });
            if (r.ttft_ns && *r.ttft_ns > options_.slo_ttft_ns && !own.empty())
                over(own.front(), [&] { return fmt::format("the first token of request {} took {}", r.name, milliseconds(*r.ttft_ns)); });
            for (std::size_t n = 1; n < own.size(); ++n) {
                const TimeNs between = steps_[own[n]].end - steps_[own[n - 1]].end;
                if (between > options_.slo_tpot_ns && steps_[own[n]].phase != StepPhase::prefill)
                    over(own[n], [&] { return fmt::format("request {} waited {} for a token", r.name, milliseconds(between)); });
            }
        }
        std::int64_t decoding = 0, late = 0;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const Step& s = steps_[i];
            if (s.inferred || (s.phase != StepPhase::decode && s.phase != StepPhase::mixed)) continue;
            ++decoding;
            if (own_[i].duration() > options_.slo_tpot_ns)
                over(i, [&] { return fmt::format("its tokens took {}", milliseconds(own_[i].duration())); });
            late += over_slo_[i];
        }
        slo_common_ = static_cast<double>(late) > kSloCommon * static_cast<double>(decoding);
    }

    /// The first that is said of a step stands; the text is made only then.
    template <class Sentence>
    void over(std::size_t step, const Sentence& sentence) {
        if (!over_slo_[step]) slo_sentences_[step] = sentence();
        over_slo_[step] = true;
    }

    Result<void> add_stalls() {
        Result<std::vector<Stall>> stalls = find_stalls(capture_, index_, steps_, requests_, devices_, options_);
        if (!stalls) return tl::unexpected<Error>(stalls.error());
        std::int64_t id = 0;
        for (const Step& s : steps_) id = std::max(id, index_of(s.id));
        for (Stall& stall : *stalls) {
            stall.step.id = StepId{++id};
            stall.step.kind = StepKind::stall;
            stall.step.dialect = "stall";
            StepVerdict v;
            v.step = stall.step.id;
            v.own_ns = stall.step.end - stall.step.start;
            v.outlier = true;
            v.reasons = reason_stall;
            v.bound = stall.bound;
            v.rule = "no progress";
            v.sentence = std::move(stall.sentence);
            out_.verdicts.push_back(std::move(v));
            out_.stalls.push_back(std::move(stall.step));
        }
        return {};
    }

    [[nodiscard]] std::string parameters() const {
        return fmt::format(
            R"({{"slow_ratio":{},"slow_least_ns":{},"roofline_steps":{},"cold_steps":{},"bubble_least_ns":{},"stall_least_ns":{},)"
            R"("slo_ttft_ns":{},"slo_tpot_ns":{}}})",
            options_.slow_ratio, options_.slow_least_ns, options_.roofline_steps, options_.cold_steps, bubble_least_,
            options_.stall_least_ns, options_.slo_ttft_ns, options_.slo_tpot_ns);
    }

    const CaptureReader& capture_;
    const SpanIndex& index_;
    const LayerRules& layers_;
    std::span<const Request> requests_;
    const AnalysisOptions& options_;
    std::stop_token stop_;
    std::vector<Step> steps_;
    std::vector<TimeRange> own_;  ///< by position in steps_, as the other vectors
    CountedSteps counted_;
    std::vector<DeviceBusy> devices_;
    TimeNs bubble_least_ = 0;
    std::vector<std::vector<Busy>> busy_;  ///< by position in steps_
    std::unordered_map<std::int64_t, bool> hides_;
    std::map<std::pair<std::int64_t, DeviceId>, StepIdle> idle_;
    std::vector<StructureFinding> structure_;
    std::vector<bool> over_slo_;
    std::vector<std::string> slo_sentences_;
    bool slo_common_ = false;
    CaptureAnalysis out_;
};

}  // namespace

Result<CaptureAnalysis> analyse_capture(const CaptureReader& capture, const SpanIndex& index, const LayerRules& layers,
                                        std::span<const Request> requests, const AnalysisOptions& options, std::stop_token stop) {
    return Analysis(capture, index, layers, requests, options, std::move(stop)).run();
}

}  // namespace faultline
