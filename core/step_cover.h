// Which spans belong to which step, and what its device work amounts to (DESIGN §6). Used by find_steps().
//
// Rules. On the thread of a step every span that starts in its host range belongs to it (of overlapping ranges to the one that started
// last). On other threads of the process that have no step of their own but launch device work (autograd's backward thread) what starts in
// the host range belongs to the step as well; on threads that launch nothing only collectives (gloo) do, with what encloses them and starts
// in the range. Where no thread of the step's process launches anything, those two hold for all processes without steps (ProfilerStep on a
// row of its own). Device work belongs to the step of the call that launched it, whenever it runs. Steps without a host side take the
// device work that starts in them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/launch_calls.h"
#include "core/source_builder.h"
#include "core/step_texts.h"

namespace faultline {

/// A host range grows over the work that ends a step after its text closed (in vLLM the text covers execute_model alone): the calls of
/// its thread before the next range, through the first copy to the host, which carries the tokens; unless such a copy closes the range.
void extend_to_token_copy(std::vector<StepRange*>& of_thread, const std::vector<LaunchCall>& calls);

/// Device work of a step.
struct StepWork {
    TimeNs first_start = 0, last_end = 0;  ///< source clock; meaningless without work
    std::int64_t spans = 0;
    std::int64_t kernels = 0;
    TimeNs busy_ns = 0;  ///< union on each device, summed
};

/// Sets the `step` column to the position of the range (set_step_ids() makes it an id) and adds the work up. A sweep: linear in spans.
[[nodiscard]] std::vector<StepWork> cover_spans(SourceBuilder& source, const std::vector<HostThread>& threads, const LaunchTable& launches,
                                                const std::vector<StepRange>& ranges);

/// Rewrites the positions that cover_spans() set by the ids the steps were given in the end.
void set_step_ids(SourceBuilder& source, const std::vector<StepId>& ids);

}  // namespace faultline
