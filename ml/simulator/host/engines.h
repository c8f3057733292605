// One host an engine family. Private to this folder.
#pragma once

#include <memory>

#include "ml/simulator/host/engine_host.h"

namespace faultline::simulator {

[[nodiscard]] std::unique_ptr<HostModel> make_vllm_host(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start);
[[nodiscard]] std::unique_ptr<HostModel> make_sglang_host(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start);
[[nodiscard]] std::unique_ptr<HostModel> make_fsdp_host(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start);

}  // namespace faultline::simulator
