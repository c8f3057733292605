// From the places that name requests to requests with steps and timing (TELLER §3.3, DESIGN §6).
//
// Values in, values out; any thread. The suffix rule: an engine's id that is a shorter one seen elsewhere plus "-" and eight hex digits
// or a prompt index, or "N_" and a shorter one, is the same request (FORMATS §7.2); the shortest seen is its name. After "N_" an id of the
// form that vLLM gives counts as seen: a request with several answers runs as N_ children, and its own id may be in no line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model.h"
#include "core/request.h"
#include "core/request_rules.h"
#include "core/source_builder.h"

namespace faultline {

/// Fills `source.mentions` from the names and arguments of its spans and from its log lines (time: source clock). Run after find_steps();
/// a span's step is taken from its `step` column. Each name is matched once; where no name and no argument says anything, spans are not
/// looked at.
void find_mentions(SourceBuilder& source, const RequestRules& rules);

/// The name of the request that each spelling belongs to.
[[nodiscard]] std::unordered_map<std::string, std::string> canonical_ids(std::span<const RequestMention> mentions);

/// All requests, by first appearance; ids from 1. `mentions` in capture time. `sources` say how far their clocks may be off.
///
/// Arrival: the first arrival event, else null. First token: the first first_token event, else arrival + the engine's own TTFT, else the
/// end of the first step that it prefilled in where steps carry ids (of the last in a row of prefill steps: its prompt came in pieces),
/// else null. End: the last finished event, else the last aborted, else arrival + the engine's own latency, else null. TTFT and TPOT are
/// null unless both ends are known and the clocks they were read from resolve them to a tenth; an engine's own figure wins over a
/// difference.
[[nodiscard]] std::vector<Request> find_requests(std::span<const RequestMention> mentions, std::span<const Step> steps,
                                                 std::span<const Source> sources = {});

}  // namespace faultline
