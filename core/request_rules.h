// The texts by which ranges and log messages name requests, as data (ENGINES §2.3 and §5, FORMATS §7.2).
//
// File format (resources/rules/requests.rules), a block a rule:
//     rule NAME
//       match REGEXP                # RE2; every place where it matches counts
//       in range|log|args           # what it reads: a span's name, a log message, or a span's arguments
//       within REGEXP               # only texts that match this too
//       kinds range,op              # range and args rules: kinds of spans it applies to (default: range,async,instant,other)
//       loggers TEXT[,TEXT…]        # log rules only: the logger must hold one of them
//       event mention|arrival|in_step|first_token|finished|aborted|preempted      (default: mention)
//       id GROUP                    # one id, or a list in the text of the group ("a,b", "['a', 'b']", "{'a': 1}"): all of them
//       prompt_tokens|output_tokens GROUP
//       ttft_s|latency_s GROUP      # seconds that the engine itself measured
// Of the rules for spans the first that matches wins. Texts are read as bytes (an id is ASCII).
// A rule set is const after load() and may be shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log_line.h"
#include "core/model.h"
#include "core/request.h"
#include "core/result.h"

namespace faultline {

/// What one text says about requests.
struct RequestText {
    RequestEvent event = RequestEvent::mention;
    std::vector<std::string> ids;
    std::optional<std::int64_t> prompt_tokens, output_tokens;
    std::optional<TimeNs> ttft_ns, latency_ns;
};

class RequestRules {
public:
    [[nodiscard]] static Result<RequestRules> load(std::string_view text, std::string_view where);
    [[nodiscard]] static RequestRules built_in();  ///< resources/rules/requests.rules, compiled in
    RequestRules(RequestRules&&) noexcept;
    RequestRules& operator=(RequestRules&&) noexcept;
    ~RequestRules();

    /// Whether a range rule of any kind may match: one pass over the name, so that a capture whose names say nothing costs next to nothing.
    [[nodiscard]] bool may_match_span(std::string_view name) const;
    /// Callers match each (kind, name) once and keep the answer; a kind that covers() denies costs nothing.
    [[nodiscard]] std::optional<RequestText> match_span(SpanKind kind, std::string_view name) const;
    [[nodiscard]] std::optional<RequestText> match_args(SpanKind kind, std::string_view args) const;
    /// Every place of the message where a rule matches, by rule; a message can say two things ("Finished" with the ids of a batch). An id
    /// that a rule gave is not given again as a plain mention by those after it.
    [[nodiscard]] std::vector<RequestText> match_log(std::string_view logger, std::string_view message) const;
    [[nodiscard]] bool covers(SpanKind kind) const noexcept;

private:
    struct Rule;
    struct RuleSet;
    RequestRules();
    [[nodiscard]] std::optional<RequestText> match_first(const RuleSet& set, SpanKind kind, std::string_view text) const;
    std::unique_ptr<RuleSet> ranges_, args_, logs_;  ///< by what they read
};

/// The ids in the text of a group: one, or a list as engines and Python print it, without blanks, brackets and quotes.
[[nodiscard]] std::vector<std::string> ids_of_list(std::string_view text);

}  // namespace faultline
