#include "core/step_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "core/diagnosis_texts.h"
#include "core/difference_evidence.h"
#include "core/evidence_texts.h"
#include "core/fault_cues.h"
#include "core/fault_reading.h"
#include "core/stall_evidence.h"
#include "core/surrounding_evidence.h"

namespace faultline {

namespace {

constexpr std::size_t kMostEvidence = 24;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Everything that is known about one step, gathered once for evidence and answer.
class StepCase {
public:
    StepCase(const DiagnosisInput& input, std::stop_token stop) : in_(input), stop_(std::move(stop)), families_(input.capture) {}

    Result<void> gather(StepId step) {
        auto compared = compare_with_references(in_.capture, in_.layers, families_, in_.steps, in_.verdicts, step, stop_);
        if (!compared) return tl::unexpected<Error>(compared.error());
        comparison_ = std::move(*compared);
        signs_ = fault_signs(comparison_, families_.rules());
        logs_ = logs_of_step(in_.logs, comparison_.step);
        if (Result<void> found = find_frame(); !found) return found;
        if (comparison_.step.kind == StepKind::stall) {
            auto findings = find_in_stall(in_.capture, families_, comparison_.step);
            if (!findings) return tl::unexpected<Error>(findings.error());
            stall_ = std::move(*findings);
        }
        return collect();
    }

    [[nodiscard]] const std::vector<Evidence>& evidence() const noexcept { return evidence_; }
    [[nodiscard]] const StepComparison& comparison() const noexcept { return comparison_; }

    [[nodiscard]] ReadingInput reading_input() const {
        return {comparison_,
                signs_,
                families_.rules(),
                logs_,
                frame_ ? fault_cue(in_.capture.name(frame_->name)) : std::nullopt,
                lacks().ranks_of_group.has_value(),
                frame_ ? in_.capture.name(frame_->name) : std::string_view{}};
    }

    [[nodiscard]] FaultReading reading() const {
        return stall_ ? read_stall(*stall_, families_.rules(), logs_) : read_fault(reading_input());
    }

    [[nodiscard]] CaptureLacks lacks() const {
        CaptureLacks out;
        std::set<std::int64_t> ranks;
        std::int64_t world = 0;
        for (const Source& s : in_.capture.sources()) {
            if (s.rank) ranks.insert(*s.rank);
            world = std::max(world, s.world_size.value_or(0));
        }
        out.ranks = std::max<std::size_t>(1, ranks.size());
        if (world > static_cast<std::int64_t>(out.ranks)) out.ranks_of_group = world;
        out.logs = in_.logs.empty();
        out.stacks =
            !frame_ && std::none_of(evidence_.begin(), evidence_.end(), [](const Evidence& e) { return e.kind == EvidenceKind::stack; });
        out.host_calls = !stall_ && std::none_of(comparison_.instances.begin(), comparison_.instances.end(),
                                                 [](const OperatorInstance& x) { return is_api_call(x.kind); });
        return out;
    }

    [[nodiscard]] std::vector<Suspect> suspects(const FaultReading& reading) {
        std::vector<Suspect> out;
        if (stall_) {
            // Where device work never ends, the host spans over it only wait.
            for (const StallSpan& s : stall_->device) out.push_back(suspect(s.span, s.kind, s.name, s.rank, 0.9));
            if (out.empty())
                for (const StallSpan& s : stall_->host) out.push_back(suspect(s.span, s.kind, s.name, s.rank, s.count >= 3 ? 0.6 : 0.3));
            return out;
        }
        for (const SuspectInstance& s : suspect_instances(reading_input(), reading)) {
            const OperatorInstance& x = comparison_.instances[s.instance];
            out.push_back(suspect(x.span, x.kind, x.name, x.rank, s.score));
            if (frame_ && frame_of_ == s.instance) out.push_back(suspect(frame_->span, SpanKind::python, frame_->name, x.rank, s.score));
        }
        return out;
    }

private:
    Suspect suspect(SpanId span, SpanKind kind, NameId name, std::optional<std::int64_t> rank, double score) const {
        const std::vector<SpanId>& own = comparison_.step.spans;
        const bool is_step = std::find(own.begin(), own.end(), span) != own.end();
        const LayerClass layer = is_step ? LayerClass::step : in_.layers.classify(kind, in_.capture.name(name));
        return {span, std::string(in_.capture.name(name)),
                std::string(layer_class_name(layer == LayerClass::none ? LayerClass::backend : layer)), rank, score};
    }

    /// The Python frame under the host code that is slowest against the references.
    Result<void> find_frame() {
        std::optional<std::size_t> slowest;
        for (const RankSigns& r : signs_.ranks) {
            for (const Sign sign : {Sign::host_code, Sign::unseen}) {
                const std::optional<std::size_t> worst = r.worst[static_cast<std::size_t>(sign)];
                if (!worst || r.of(sign) < signs_.least_ns) continue;
                if (!slowest || comparison_.deviations[*worst].excess_ns > comparison_.deviations[*slowest].excess_ns) slowest = worst;
            }
        }
        if (!slowest) return {};
        auto frame = frame_under(in_.capture, comparison_.instances[*slowest]);
        if (!frame) return tl::unexpected<Error>(frame.error());
        frame_ = *frame;
        frame_of_ = *slowest;
        frame_weight_ = comparison_.deviations[*slowest].excess_ns;
        for (const OperatorDifference& of : comparison_.operators)  // stands behind the operator around it
            if (of.where == *slowest) frame_weight_ = std::min(frame_weight_, std::max<TimeNs>(0, of.excess_ns));
        return {};
    }

    Result<void> collect() {
        evidence_.push_back(duration_evidence(comparison_));
        if (stall_) add(stall_evidence(in_.capture, *stall_, comparison_.step));
        add(rank_evidence(in_.capture, comparison_, signs_));
        add(operator_evidence(in_.capture, comparison_, signs_, families_.rules()));
        if (frame_) {
            std::string sentence =
                fmt::format("In {} the Python frame {} lasted {}.", short_name(in_.capture.name(comparison_.instances[frame_of_].name)),
                            first_line(in_.capture.name(frame_->name), 120), time_words(frame_->duration));
            evidence_.push_back({EvidenceKind::span, frame_->span.value, frame_->start, frame_weight_, std::move(sentence)});
        }
        auto bubbles = bubble_evidence(in_.capture, comparison_, in_.bubbles, signs_.least_ns);
        if (!bubbles) return tl::unexpected<Error>(bubbles.error());
        // An idle device follows from something: what it follows from stands before it, at the same length.
        for (Evidence& e : *bubbles) e.weight_ns -= e.weight_ns / 10;
        add(std::move(*bubbles));
        add(parameter_evidence(in_.logs, in_.requests, comparison_));
        for (const StepLog& log : logs_) evidence_.push_back(log_evidence(log, comparison_.extra_ns()));
        auto counters = counter_evidence(in_.capture, comparison_);
        if (!counters) return tl::unexpected<Error>(counters.error());
        add(std::move(*counters));
        std::stable_sort(evidence_.begin(), evidence_.end(),
                         [](const Evidence& a, const Evidence& b) { return a.weight_ns > b.weight_ns; });
        cut();
        return {};
    }

    void add(std::vector<Evidence> more) {
        for (Evidence& e : more) evidence_.push_back(std::move(e));
    }

    /// The biggest of all, and at least one of every kind.
    void cut() {
        std::set<EvidenceKind> kinds;
        std::vector<Evidence> kept;
        for (Evidence& e : evidence_)
            if (kept.size() < kMostEvidence || !kinds.contains(e.kind)) {
                kinds.insert(e.kind);
                kept.push_back(std::move(e));
            }
        evidence_ = std::move(kept);
    }

    const DiagnosisInput& in_;
    std::stop_token stop_;
    NameFamilies families_;
    StepComparison comparison_;
    FaultSigns signs_;
    std::vector<StepLog> logs_;
    std::optional<FrameUnder> frame_;
    std::size_t frame_of_ = 0;  ///< the instance around it
    TimeNs frame_weight_ = 0;
    std::optional<StallFindings> stall_;
    std::vector<Evidence> evidence_;
};

}  // namespace

Result<std::vector<Evidence>> step_evidence(const DiagnosisInput& input, StepId step, std::stop_token stop) {
    StepCase of(input, std::move(stop));
    if (Result<void> gathered = of.gather(step); !gathered) return tl::unexpected<Error>(gathered.error());
    return of.evidence();
}

Result<Diagnosis> diagnose_by_numbers(const DiagnosisInput& input, StepId step, std::stop_token stop) {
    const auto start = std::chrono::steady_clock::now();
    StepCase of(input, std::move(stop));
    if (Result<void> gathered = of.gather(step); !gathered) return tl::unexpected<Error>(gathered.error());
    Diagnosis out;
    out.step = step;
    out.localize_ms = milliseconds_since(start);
    const auto inferring = std::chrono::steady_clock::now();
    const FaultReading reading = of.reading();
    out.abnormal = reading.abnormal;
    out.judged = reading.abnormal || was_judged(of.comparison());
    out.fault_type = reading.types.front().fault_type;
    out.confidence = reading.types.front().confidence;
    out.alternatives.assign(reading.types.begin() + 1, reading.types.end());
    out.suspects = of.suspects(reading);
    out.evidence = of.evidence();
    out.explanation = explanation_of(reading, of.reading_input(), out.evidence);
    out.ruled_out = ruled_out_by(reading, of.reading_input());
    out.next = next_steps(reading, of.reading_input());
    out.missing = missing_words(of.comparison(), of.lacks());
    out.model = "numbers";
    out.infer_ms = milliseconds_since(inferring);
    return out;
}

}  // namespace faultline
