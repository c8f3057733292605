// The call chain of a step as one of its requests sees it: C_q(s) of TELLER §3.3.
//
// Requests of a batch share the operators of their step: what names no request belongs to all of them. What names requests, but not this
// one, is left out with everything under it. Communication hangs on the nearest enclosing semantic node (step, range or operator; its call
// is no semantic node), or, where its launch is not known, on the last step range that started before it.
// Values in, values out; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/call_chain.h"
#include "core/request.h"
#include "core/result.h"

namespace faultline {

/// The position of the request that an id means: its name, or any spelling of it in the mentions. An error that says what there is where
/// it means none.
[[nodiscard]] Result<std::size_t> request_by_id(std::string_view id, std::span<const Request> requests,
                                                std::span<const RequestMention> mentions);

/// `mentions`: of the capture that the chain comes from. An error where the request is not in the step.
[[nodiscard]] Result<CallChain> project_chain(const CallChain& chain, const Request& request, std::span<const RequestMention> mentions);

}  // namespace faultline
