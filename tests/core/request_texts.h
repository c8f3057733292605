// Texts that name requests, and what they say: "event id|id prompt=n output=n latency=ns", or "nothing".
#pragma once

#include <vector>

namespace faultline::test {

struct TextCase {
    const char* name;
    const char* text;
    const char* expected;
};

std::vector<TextCase> id_lists();
std::vector<TextCase> range_texts();
std::vector<TextCase> argument_texts();
std::vector<TextCase> message_texts();

}  // namespace faultline::test
