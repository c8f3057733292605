#include "ml/simulator/serving/step_judgement.h"

#include <algorithm>

namespace faultline::simulator {
namespace {

/// Time that must be lost before a change counts as visible: above the jitter of a step.
constexpr TimeNs kLeastLoss = 30'000;
constexpr double kLeastShare = 0.03;

/// What holds a process after the device is through holds the tokens.
void count_held_tokens(StepRecord& record, const StepLoss& loss) {
    if (loss.expected == kNull || loss.arrived == kNull || record.rehearsed == kNull || !record.touched) return;
    if (loss.arrived - loss.expected <= record.end - record.start - record.rehearsed + kLeastLoss) return;
    record.end = std::max(record.end, loss.arrived);
    record.rehearsed = loss.expected - record.start;
}

}  // namespace

FaultClass judge_step(StepRecord& record, const StepLoss& loss, const Fault* fault) {
    count_held_tokens(record, loss);
    const TimeNs took = record.end - record.start;
    const TimeNs lost = std::max(record.rehearsed == kNull ? 0 : took - record.rehearsed, loss.core);
    record.structural = fault != nullptr && record.touched && fault->structural();
    const TimeNs least = std::max(kLeastLoss, static_cast<TimeNs>(kLeastShare * static_cast<double>(record.rehearsed == kNull ? took : record.rehearsed)));
    const bool visible = record.structural || lost >= least || loss.stuck;
    const bool faulty = fault != nullptr && record.touched && visible;
    if (!record.touched) record.rehearsed = kNull;
    return faulty ? fault->settings().info->type : FaultClass::normal;
}

}  // namespace faultline::simulator
