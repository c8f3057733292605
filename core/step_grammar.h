// The texts by which engines mark their steps (ENGINES §3), as data.
//
// File format (resources/rules/steps.rules), a block a rule, the first that matches wins:
//     rule NAME                       # dialect, e.g. vllm-0.14
//       match REGEXP                  # RE2, anchored by the writer
//       kinds range,op                # span kinds it applies to (default: range)
//       phase prefill|decode|mixed|other|from-counts|from-mode GROUP   (default: other)
//       context_requests GROUP        # and: context_tokens generation_requests generation_tokens tokens batch number
//       decode_tokens batch           # a decode step that gives no tokens has one a request
//       role step|phase|begin|capture|outer|frame|sample|graph         (default: step)
// GROUP is the number of a capture group. Unknown keys are refused. `, seq = N` or `, op_id = N` and what follows it in a span's
// name (emit_nvtx appends them) is taken off before matching. A grammar is const after load() and may be shared by threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model.h"
#include "core/result.h"

namespace faultline {

enum class StepRole : std::uint8_t {
    step,     ///< makes a step
    phase,    ///< a part inside a step
    begin,    ///< a part that opens a step: where no text makes one, a step lasts from one such part to the next (inferred)
    capture,  ///< graph capture, never a step
    outer,    ///< a step only where nothing inside it is one (ProfilerStep)
    frame,    ///< a function that runs one step: a step where no text makes one (inferred)
    sample,   ///< work that ends a step (token sampling): an anchor of inferred steps
    graph,    ///< a call that launches a graph: an anchor of inferred steps
};

/// What the text of a range says.
struct StepText {
    std::string_view dialect;  ///< name of the rule; lives as long as the grammar
    StepRole role = StepRole::step;
    StepPhase phase = StepPhase::other;
    std::optional<std::int64_t> number, tokens, batch, context_requests, context_tokens, generation_requests, generation_tokens;
    [[nodiscard]] bool has_counts() const noexcept { return tokens || batch || context_requests || generation_requests; }
};

class StepGrammar {
public:
    [[nodiscard]] static Result<StepGrammar> load(std::string_view text, std::string_view where);
    [[nodiscard]] static StepGrammar built_in();  ///< resources/rules/steps.rules, compiled in
    StepGrammar(StepGrammar&&) noexcept;
    StepGrammar& operator=(StepGrammar&&) noexcept;
    ~StepGrammar();

    /// Callers match each (kind, name) once and keep the answer; a kind that covers() denies costs nothing.
    [[nodiscard]] std::optional<StepText> match(SpanKind kind, std::string_view name) const;
    [[nodiscard]] bool covers(SpanKind kind) const noexcept;
    /// Names of the rules, in order.
    [[nodiscard]] std::vector<std::string> rules() const;

private:
    struct Rule;
    StepGrammar();
    std::vector<Rule> rules_;
    std::uint32_t kinds_ = 0;
};

}  // namespace faultline
