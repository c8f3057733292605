// A request that an engine served, and the places of a capture that name one.
//
// Values. Times are capture times, except inside a SourceBuilder's mentions (source clock).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/types.h"

namespace faultline {

/// What a place says about a request. The numbers stand in capture files (`request_mention.event`) and never change meaning.
enum class RequestEvent : std::uint8_t {
    mention = 0,      ///< it is named, no more
    arrival = 1,      ///< the service received it
    in_step = 2,      ///< a step's text or arguments count it in
    first_token = 3,  ///< its first token was there
    finished = 4,     ///< its last token was there
    aborted = 5,      ///< it was given up by client or engine
    preempted = 6,    ///< it lost its KV blocks and waits again
};

/// One place that names a request: a span, or a log message.
struct RequestMention {
    std::string request;  ///< as written there
    RequestEvent event = RequestEvent::mention;
    std::optional<TimeNs> time;   ///< absent where the line has no time
    TimeNs resolution_ns = 0;     ///< of the time, see LogLine
    TimeNs end = 0;               ///< end of the span; equals time for a log line
    std::optional<StepId> step;   ///< of the span
    SourceId source{};
    SpanId span;                  ///< invalid for a log line
    std::int64_t log = 0;         ///< id of the log line, 0 for a span
    std::optional<std::int64_t> prompt_tokens, output_tokens;  ///< where the place says so
    std::optional<TimeNs> ttft_ns, latency_ns;                 ///< where the engine itself says so
};

struct Request {
    std::int64_t id = 0;
    std::string name;  ///< the id that the client sees: engine suffixes taken off where a shorter form was seen (FORMATS §7.2)
    std::optional<TimeNs> arrival, first_token, end;
    std::optional<TimeNs> ttft_ns, tpot_ns;  ///< null where either end is not known, or the clocks are too coarse to say
    std::optional<std::int64_t> prompt_tokens, output_tokens;
    bool aborted = false;
    std::string timing_rule;  ///< where arrival, first token and end came from, in words
    std::vector<StepId> steps;
    std::vector<std::string> instances;  ///< engine instances it visited, in order
};

}  // namespace faultline
