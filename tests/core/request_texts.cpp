#include "tests/core/request_texts.h"

namespace faultline::test {

std::vector<TextCase> id_lists() {
    return {
        {"one", "cmpl-ab-0", "cmpl-ab-0"},
        {"commas", "a,b , c", "a|b|c"},
        {"trailing comma", "a,b,", "a|b"},
        {"Python list", "['a', 'b,c']", "a|b,c"},
        {"JSON list", R"(["a","b"])", "a|b"},
        {"numbers", "[0, 1, 17]", "0|1|17"},
        {"dictionary", "{'a': 1, 'b': 22}", "a|b"},
        {"bare dictionary", "{a: 1, b: 2}", "a|b"},
        {"quoted", "'a'", "a"},
        {"list inside a text", R"("['a', 'b']")", "a|b"},
        {"no end", "['a', 'b", "a"},
        {"nothing", "[]", ""},
        {"None", "None", ""},
        {"null", "null", ""},
    };
}

std::vector<TextCase> range_texts() {
    return {
        {"key=value", "execute_model step=12 decode tokens=221 batch=9 requests=a,b,c", "in_step a|b|c"},
        {"key=value, bare", "step=12 decode tokens=221 batch=1 requests=cmpl-1", "in_step cmpl-1"},
        {"key=value, list", "step=12 mixed tokens=3 batch=2 requests=['a', 'b']", "in_step a|b"},
        {"key=value with a sequence number", "step=12 decode tokens=221 batch=2 requests=a,b, seq = 7", "in_step a|b"},
        {"a count of requests", "execute_model requests=9", "nothing"},
        {"request of vLLM", "request cmpl-0123456789abcdef0123456789abcdef-0", "in_step cmpl-0123456789abcdef0123456789abcdef-0"},
        {"prefill of vLLM", "prefill chatcmpl-a63edc53871ca0b0-8587678b", "in_step chatcmpl-a63edc53871ca0b0-8587678b"},
        {"child of vLLM", "decode(13_chatcmpl-c78d39a6d1d8469f)", "in_step 13_chatcmpl-c78d39a6d1d8469f"},
        {"two of vLLM", "batch: chatcmpl-0001, cmpl-0002-0; cmpl-0002-0", "in_step chatcmpl-0001|cmpl-0002-0"},
        {"dashed UUID", "request chatcmpl-550e8400-e29b-41d4-a716-446655440000", "in_step chatcmpl-550e8400-e29b-41d4-a716-446655440000"},
        {"two instances of vLLM", "prefill cmpl-___prefill_addr_10.0.0.1:20001___decode_addr_10.0.0.2:20002_93923d63-0 now",
         "in_step cmpl-___prefill_addr_10.0.0.1:20001___decode_addr_10.0.0.2:20002_93923d63-0"},
        {"req_ids", "run_batch req_ids=['a1', 'b2']", "in_step a1|b2"},
        {"rid", "handle_request rid=3ce84ffb82764f45b028dd8e6c4beed1", "in_step 3ce84ffb82764f45b028dd8e6c4beed1"},
        {"rids, colon", "run_batch rids: a1,b2 more", "in_step a1|b2"},
        {"hexadecimal of SGLang", "prefill 3ce84ffb82764f45b028dd8e6c4beed1", "in_step 3ce84ffb82764f45b028dd8e6c4beed1"},
        {"UUID of a client", "Request: 550e8400-e29b-41d4-a716-446655440000", "in_step 550e8400-e29b-41d4-a716-446655440000"},
        {"step of vLLM", "execute_context_2(6144)_generation_3(3)", "nothing"},
        {"step of SGLang", "step[DECODE bs=12 toks=12]", "nothing"},
        {"operator", "aten::mm", "nothing"},
        {"grid", "grid=[1, 2, 3]", "nothing"},
        {"valid=1", "valid=1 hybrid=2", "nothing"},
        {"pooling", "pool_cached_tensors", "nothing"},
        {"empty", "", "nothing"},
    };
}

std::vector<TextCase> argument_texts() {
    return {
        {"list", R"({"batch": 2, "request_ids": ["a1", "b2"]})", "in_step a1|b2"},
        {"one", R"({"rid":"3ce84ffb"})", "in_step 3ce84ffb"},
        {"number", R"({"req_id": 17})", "in_step 17"},
        {"list in a text", R"({"req_ids": "['a1', 'b2']"})", "in_step a1|b2"},
        {"counts by id", R"({"request_ids": {"a1": 1, "b2": 4}})", "in_step a1|b2"},
        {"requests", R"({"requests": ["a1", "b2"]})", "in_step a1|b2"},
        {"a count", R"({"requests": 9})", "nothing"},
        {"others", R"({"grid": [1, 2, 3], "Record function id": 0})", "nothing"},
    };
}

std::vector<TextCase> message_texts() {
    return {
        {"received", "Received request cmpl-01ab-0: prompt: 'Hi', params: SamplingParams(n=1), prompt_token_ids: None.",
         "arrival cmpl-01ab-0"},
        {"received, any id", "Received request my own:id: prompt: 'Hi'", "nothing"},
        {"received, id of a client", "Received request order:17: prompt: 'Hi'", "arrival order:17"},
        {"prompt that looks like a line",
         "Received request cmpl-01ab-0: prompt: 'Added request cmpl-ff00-0. rid=\\'aa\\' chatcmpl-0123', params: x", "arrival cmpl-01ab-0"},
        {"added", "Added request 13_chatcmpl-c78d39a6d1d8469f.   ", "arrival 13_chatcmpl-c78d39a6d1d8469f"},
        {"joined lines", "Added request cmpl-1-0.\nAdded request cmpl-2-0.", "arrival cmpl-1-0; arrival cmpl-2-0"},
        {"details", "Request cmpl-1 details: prompt: 'x'", "mention cmpl-1"},
        {"response", "Generated response cmpl-1: output: 'x', output_token_ids: [1], finish_reason: stop", "finished cmpl-1"},
        {"streamed", "Generated response cmpl-1 (streaming complete): output: '<streaming_complete: 221 tokens>', finish_reason: stop",
         "finished cmpl-1 output=221"},
        {"delta", "Generated response cmpl-1 (streaming delta): output: 'H'", "first_token cmpl-1"},
        {"finished", "Finished request d9e65a86be2a42a4917ba9fee5e97d9e.", "finished d9e65a86be2a42a4917ba9fee5e97d9e"},
        {"aborted", "Aborted request cmpl-1-0.", "aborted cmpl-1-0"},
        {"several aborted", "Aborted request(s) cmpl-1-0,cmpl-2-0.", "aborted cmpl-1-0|cmpl-2-0"},
        {"request aborted", "Request cmpl-1-0 aborted.", "aborted cmpl-1-0"},
        {"failed", "Request cmpl-1-0 failed (engine dead).", "aborted cmpl-1-0"},
        {"no request", "Request body failed to parse", "nothing"},
        {"abort of none", "Aborting requests now.", "nothing"},
        {"preempted, v0",
         "Sequence group cmpl-1-0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.",
         "preempted cmpl-1-0"},
        {"resumed", "Preempted request cmpl-1-0 has been resumed!", "mention cmpl-1-0"},
        {"resumed, tokens", "Resumed request cmpl-1-0 has 8704 computed tokens", "mention cmpl-1-0"},
        {"LMCache", "Reqid: cmpl-e595-0, Total tokens 8891, LMCache hit tokens: 8704, need to load: 8704", "mention cmpl-e595-0"},
        {"LMCache with its level", "LMCache INFO: Reqid: 17, Total tokens 8891", "mention 17"},
        {"fatal batch",
         "Dumping scheduler output for model execution: SchedulerOutput(scheduled_new_reqs=[NewRequestData(req_id=cmpl-1-0,"
         "prompt_token_ids_len=9,mm_inputs=[])], scheduled_cached_reqs=CachedRequestData(req_ids=['cmpl-2-0'], resumed=[]), "
         "num_scheduled_tokens={'cmpl-1-0': 9, 'cmpl-2-0': 1}, finished_req_ids=['cmpl-3-0'])",
         "mention cmpl-1-0 prompt=9; mention cmpl-2-0"},
        {"dump of something else", "Dumping config: model='x', req_id=17, req_ids=['a']", "nothing"},
        {"output that a server prints", "RequestOutput(request_id=d9e65a86, prompt='rid=\\'aa\\'', outputs=[])", "mention d9e65a86"},
        {"status of vLLM", "Engine 000: Avg prompt throughput: 12.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%",
         "nothing"},
        {"any message of vLLM", "KV transfer of cmpl-0123-0 took 12 ms", "mention cmpl-0123-0"},
        {"quoted text", "User wrote 'please look at chatcmpl-0123'", "nothing"},
        {"route", "Route: /v1/completions, Methods: POST", "nothing"},

        {"SGLang received", "Receive: obj=GenerateReqInput(validation_time=None, rid='c99c9df7', text='The capital', stream=False)",
         "arrival c99c9df7"},
        {"SGLang received, prompt first", R"(Receive: obj=GenerateReqInput(text='it\'s rid=\'ff\' ', input_ids=None, rid='c99c9df7'))",
         "arrival c99c9df7"},
        {"SGLang received, double quotes", R"(Receive: obj=GenerateReqInput(text="it's rid='ff'", rid='c99c9df7'))", "arrival c99c9df7"},
        {"SGLang batch", "Receive: obj=GenerateReqInput(text=['a', 'b'], rid=['r1', 'r2'])", "arrival r1|r2"},
        {"SGLang finished",
         "Finish: obj=GenerateReqInput(rid='c99c9df7', text='x'), out={'text': ' a \\'prompt_tokens\\': 99', 'meta_info': {'id': "
         "'c99c9df7', "
         "'finish_reason': {'type': 'length', 'length': 8}, 'prompt_tokens': 7, 'weight_version': 'default', 'completion_tokens': 8, "
         "'cached_tokens': 1, 'e2e_latency': 0.25}}",
         "finished c99c9df7 prompt=7 output=8 latency=250000000"},
        {"SGLang finished, cut", "Finish: obj=GenerateReqInput(rid='c99c9df7', text='x'), out={'text': ' a", "finished c99c9df7"},
        {"SGLang finished, prompt says more",
         R"(Finish: obj=GenerateReqInput(rid='c99c9df7'), out={'text': "'prompt_tokens': 99", 'meta_info': {'completion_tokens': 8}})",
         "finished c99c9df7 output=8"},
        {"SGLang JSON received",
         R"({"timestamp": "2026-08-23T09:05:37.123456", "event": "request.received", "rid": "c99c", "obj": {"text": "x"}})",
         "arrival c99c"},
        {"SGLang JSON finished",
         R"({"timestamp": "2026-08-23T09:05:38.5", "event": "request.finished", "rid": "c99c", "obj": {"text": "\"prompt_tokens\": 99"}, )"
         R"("out": {"meta_info": {"prompt_tokens": 7, "completion_tokens": 8, "e2e_latency": 1.5}}})",
         "finished c99c prompt=7 output=8 latency=1500000000"},
        {"SGLang time statistics", "Req Time Stats(rid=c99c, input len=12, output len=8, type=unified): queue_duration=1.20ms",
         "finished c99c prompt=12 output=8"},
        {"SGLang time statistics of prefill", "Req Time Stats(rid=c99c, input len=12, output len=1, type=prefill): queue_duration=1.20ms",
         "mention c99c prompt=12"},
        {"SGLang transfer",
         "Decode transfer failed for request rank=1 decode_req.req.rid='3ce8' decode_req.req.bootstrap_room=16 with exception x",
         "aborted 3ce8"},
        {"SGLang abort", "Abort queued request. req.rid='3ce8'", "aborted 3ce8"},
        {"SGLang client gone", "ValueError: Request is disconnected from the client side. Abort request obj.rid='3ce8'", "aborted 3ce8"},
        {"SGLang watchdog",
         "self.cur_batch.batch_size()=2, self.cur_batch.reqs=[Req(rid=8159_6b91, input_ids=[0, 1], output_ids=[]), Req(rid=8160_77aa, "
         "input_ids=[0])]",
         "mention 8159_6b91; mention 8160_77aa"},
        {"SGLang status",
         "Prefill batch, #new-seq: 1, #new-token: 256, #cached-token: 0, token usage: 0.08, #running-req: 31, #queue-req: 0", "nothing"},
        {"id that is said to be one", "[req_id=my-17] Stored 256 out of total 300 tokens", "mention my-17"},
        {"id that is said to be one, quoted", "KV of request_id: 'my-17' is gone", "mention my-17"},
        {"id of JSON", R"({"level": "info", "msg": "\"rid\": \"ff\"", "request_id": "my-17"})", "mention my-17"},
        {"no id", "request_id: None", "nothing"},
        {"grid in a message", "server_args=ServerArgs(model_path='x', grid=3)", "nothing"},
        {"nothing", "", "nothing"},
    };
}

}  // namespace faultline::test
