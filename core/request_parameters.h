// What a client asked for with a request, as the log of the engine repeats it: "params: SamplingParams(n=1, repetition_penalty=1.15, …)" of
// vLLM, "sampling_params={'n': 1, …}" of SGLang.
//
// Values in, values out; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// By name; values as written. Empty where the text holds no parameters.
[[nodiscard]] std::map<std::string, std::string> request_parameters(std::string_view text);

/// A request that asks for something else than all others do.
struct OddParameter {
    std::size_t request = 0;  ///< position in the list that was given
    std::string name, value, usual;
};
/// Where two or more requests agree on a value and exactly one asks for another. What says nothing about work is left out (seeds, stop
/// words). `parameters` without any entry are not counted.
[[nodiscard]] std::vector<OddParameter> odd_parameters(const std::vector<std::map<std::string, std::string>>& parameters);

}  // namespace faultline
