// What the host side calls its ranges, by engine and dialect (ENGINES §3, §6), and the text of a step. Const after construction but for names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ml/simulator/base/names.h"
#include "ml/simulator/base/role.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/workload/step_plan.h"

namespace faultline::simulator {

/// Whose: of the loop that schedules (in one process with rank 0, or on every rank), or of a worker.
enum class BaseFrames : std::uint8_t { core, worker };

class SpanWords {
public:
    SpanWords(const RunOptions& options, Names& names) : options_(options), names_(&names) {}

    /// The range of a part of a step; Name::none where this dialect writes none.
    [[nodiscard]] Name range(Role role) const;
    /// What the step is called where it runs; empty where the dialect has no text for steps.
    [[nodiscard]] std::string step(const StepPlan& plan) const;
    /// The side range that names the requests of a step (semantic dialect); empty where it is not written.
    [[nodiscard]] static std::string requests(const StepPlan& plan, const std::string& ids);
    [[nodiscard]] bool semantic() const { return options_.recording.dialect == Dialect::semantic; }
    /// The frames of Python below a step, outermost first.
    [[nodiscard]] std::span<const std::string_view> base_frames(BaseFrames which) const;
    /// The Python frame of a role, as profilers write it; empty where there is none.
    [[nodiscard]] std::string_view frame(Role role) const;

private:
    [[nodiscard]] std::string_view word(Role role) const;

    const RunOptions options_;
    Names* names_;
};

}  // namespace faultline::simulator
