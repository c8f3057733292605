// A request as the simulator knows it: what the client asked for and what became of it. Times are true epoch nanoseconds, kNull where it has
// not happened.
#pragma once

#include <cstdint>
#include <string>

#include "core/types.h"
#include "ml/simulator/base/event.h"

namespace faultline::simulator {

using RequestNumber = std::uint32_t;  ///< from 0 in the order of arrival, over the whole run

enum class RequestEnd : std::uint8_t { running, finished_length, finished_stop, aborted, failed };

struct Request {
    RequestNumber number = 0;
    std::string id;          ///< as the engine names it: chatcmpl-<hex> with the engine's suffix, <32 hex> in SGLang
    int prompt_tokens = 0;
    int output_tokens = 0;   ///< it will make
    int max_tokens = 0;      ///< its client allows; one that makes fewer ends by its own end token
    int prefix_group = -1;   ///< shares the first `prefix_tokens` of its prompt with others of the group
    int prefix_tokens = 0;
    bool random = false, top_k = false, penalties = false, guided = false, logprobs = false;
    int abort_after = -1;    ///< its client goes away after so many tokens; -1: stays
    InstanceIndex instance{};         ///< that decodes it
    InstanceIndex prefill_instance{}; ///< that computes its prompt; the same but with prefill/decode instances

    int generated = 0, computed = 0;  ///< tokens so far: made, and in the KV cache
    int cached = 0;                   ///< of the prompt, found in the prefix cache
    int preemptions = 0;
    TimeNs sent = kNull;       ///< by the client
    TimeNs received = kNull;   ///< by the engine's scheduler
    TimeNs scheduled = kNull;  ///< first time
    TimeNs first_token = kNull, last_token = kNull, ended = kNull;
    TimeNs prefill_done = kNull, transfer_done = kNull;  ///< with prefill/decode instances
    RequestEnd end = RequestEnd::running;
};

}  // namespace faultline::simulator
