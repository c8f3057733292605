// Pieces of text that several engines write in the same way: progress bars, numbers with commas. Functions of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/types.h"
#include "ml/simulator/base/run_options.h"

namespace faultline::simulator {

[[nodiscard]] constexpr double seconds_of(TimeNs time) { return static_cast<double>(time) / 1e9; }
[[nodiscard]] constexpr double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }
[[nodiscard]] constexpr double gib(double bytes) { return bytes / (1024.0 * 1024.0 * 1024.0); }

inline constexpr std::string_view kVllmV0Version = "0.7.2", kVllmV1Version = "0.18.1";
[[nodiscard]] int max_model_len(const Workload& workload);
/// `Initializing a V1 LLM engine (v0.18.1) with config: …`, of vLLM.
[[nodiscard]] std::string engine_configuration(const RunOptions& options, std::string_view model, bool eager);

/// 162,704
[[nodiscard]] std::string grouped(std::int64_t number);
/// One state of a bar of tqdm: `LABEL:  50%|█████     | 2/4 [00:02<00:02,  1.03s/it]`; without `LABEL: ` where it is empty.
[[nodiscard]] std::string progress_bar(std::string_view label, int done, int total, TimeNs elapsed);
/// The same without a bar: `LABEL:  50% Completed | 2/4 [00:02<00:02,  1.03s/it]`.
[[nodiscard]] std::string progress_count(std::string_view label, int done, int total, TimeNs elapsed);

}  // namespace faultline::simulator
