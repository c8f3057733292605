// The status lines of an engine as key-value pairs: throughput, running and waiting requests, cache usage, iterations (ENGINES §5).
// Function of values; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace faultline::service_log {

struct StatusValue {
    std::string name;  ///< of the counter, with its unit where it has one: "Running requests", "KV cache usage (%)"
    double value = 0;
};

/// The values of a message, each name once; empty where it is no status line. Known keys have one name in all engines; others keep theirs.
[[nodiscard]] std::vector<StatusValue> read_status(std::string_view message);

}  // namespace faultline::service_log
