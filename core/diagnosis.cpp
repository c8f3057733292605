#include "core/diagnosis.h"

namespace faultline {

std::string_view fault_type_name(FaultType type) noexcept {
    switch (type) {
        case FaultType::memory_resource: return "memory_resource";
        case FaultType::cuda_kernel: return "cuda_kernel";
        case FaultType::runtime_driver: return "runtime_driver";
        case FaultType::communication_network: return "communication_network";
        case FaultType::scheduling_software: return "scheduling_software";
        case FaultType::normal: break;
    }
    return "normal";
}

std::string_view evidence_kind_name(EvidenceKind kind) noexcept {
    switch (kind) {
        case EvidenceKind::span: return "span";
        case EvidenceKind::log: return "log";
        case EvidenceKind::stack: return "stack";
        case EvidenceKind::bubble: return "bubble";
        case EvidenceKind::roofline: return "roofline";
        case EvidenceKind::difference: return "difference";
        case EvidenceKind::counter: return "counter";
    }
    return "span";
}

}  // namespace faultline
