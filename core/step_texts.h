// The spans of a source whose names the step grammar knows, and which of them are steps (DESIGN §6). Used by find_steps().
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/source_builder.h"
#include "core/step_grammar.h"

namespace faultline {

/// The tracks of one host thread: itself and its sub-lanes. Python threads inside one OS thread (Track::part) count apart.
struct HostThread {
    std::optional<ProcessId> process;
    std::vector<std::uint32_t> tracks;  ///< positions in SourceBuilder::tracks(), by lane
};
[[nodiscard]] std::vector<HostThread> host_threads(const SourceBuilder& source);

/// Where a span stands in a SourceBuilder.
struct SpanPlace {
    std::uint32_t track = 0;  ///< position in SourceBuilder::tracks()
    std::uint32_t at = 0;
};

struct MatchedSpan {
    SpanPlace place;
    TimeNs start = 0, end = 0;       ///< source clock
    const StepText* text = nullptr;  ///< in StepTexts::texts
};

/// Takes from `other` what `counts` does not say: both have the six count fields of a step.
template <class Counts, class Other>
void fill_counts(Counts& counts, const Other& other) {
    const auto fill = [](std::optional<std::int64_t>& field, const std::optional<std::int64_t>& from) {
        if (!field) field = from;
    };
    fill(counts.tokens, other.tokens);
    fill(counts.batch, other.batch);
    fill(counts.context_requests, other.context_requests);
    fill(counts.context_tokens, other.context_tokens);
    fill(counts.generation_requests, other.generation_requests);
    fill(counts.generation_tokens, other.generation_tokens);
}

/// All matched spans by role, in the order of tracks and spans; phases are left out. `threads` gives each host track its thread.
struct StepTexts {
    std::deque<StepText> texts;
    std::array<std::vector<MatchedSpan>, 8> by_role;

    [[nodiscard]] const std::vector<MatchedSpan>& of(StepRole role) const noexcept { return by_role[static_cast<std::size_t>(role)]; }
};
/// Each (kind, name) is matched once.
[[nodiscard]] StepTexts match_step_texts(const SourceBuilder& source, const StepGrammar& grammar);

/// A step before its device work is known: what it says and where its host side lies (source clock).
struct StepRange {
    static constexpr std::size_t kNoThread = static_cast<std::size_t>(-1);
    StepText text;
    std::string name;
    bool inferred = false;
    std::size_t thread = kNoThread;  ///< in host_threads(); none where only device work was seen
    TimeNs start = 0, end = 0;
    std::vector<SpanId> spans;  ///< its STEP ranges
};

/// Steps out of matched spans of one thread: where they nest the outermost that has counts wins, without any counts the outermost;
/// what it does not say itself is taken from those inside. Sorted by start.
[[nodiscard]] std::vector<StepRange> nested_steps(const SourceBuilder& source, std::vector<MatchedSpan> spans, std::size_t thread,
                                                  bool inferred);

}  // namespace faultline
