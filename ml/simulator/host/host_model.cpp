#include "ml/simulator/host/host_model.h"

#include "ml/simulator/host/engines.h"

namespace faultline::simulator {

std::unique_ptr<HostModel> HostModel::make(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start) {
    switch (options.deployment.engine) {
        case Engine::sglang: return make_sglang_host(options, device, names, noise, start);
        case Engine::fsdp: return make_fsdp_host(options, device, names, noise, start);
        default: return make_vllm_host(options, device, names, noise, start);
    }
}

}  // namespace faultline::simulator
