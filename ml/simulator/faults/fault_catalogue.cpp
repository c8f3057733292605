#include "ml/simulator/faults/fault.h"

#include <algorithm>

#include "ml/simulator/faults/catalogue_parts.h"

namespace faultline::simulator {

const std::vector<FaultInfo>& fault_catalogue() {
    static const std::vector<FaultInfo> all = [] {
        std::vector<FaultInfo> list;
        for (const auto part : {memory_faults, kernel_faults, driver_faults, network_faults, scheduling_faults, look_alikes}) {
            const std::vector<FaultInfo> some = part();
            list.insert(list.end(), some.begin(), some.end());
        }
        return list;
    }();
    return all;
}

const FaultInfo* fault_named(std::string_view name_or_id) {
    for (const FaultInfo& info : fault_catalogue()) {
        if (info.name == name_or_id || info.id == name_or_id) return &info;
    }
    return nullptr;
}

std::string_view fault_class_name(FaultClass c) noexcept {
    switch (c) {
        case FaultClass::normal: return "normal";
        case FaultClass::memory_resource: return "memory_resource";
        case FaultClass::cuda_kernel: return "cuda_kernel";
        case FaultClass::runtime_driver: return "runtime_driver";
        case FaultClass::communication_network: return "communication_network";
        case FaultClass::scheduling_software: return "scheduling_software";
    }
    return {};
}

}  // namespace faultline::simulator
