// Rows of a small Nsight Systems database, and what an import said about it. For tests.
#pragma once

#include <string_view>

#include "imported_trace.h"

namespace faultline::test {

/// The rows that the tests begin with: a range, a call in it and the kernel that it launched.
inline constexpr std::string_view kLaunch =
    "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<float>(float*)'), (3, 'gemm'), (4, '_Z4gemmIfEvPT_');"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", eventClass, globalTid, correlationId, nameId, returnValue)"
    " VALUES (110, 120, 0, $G(1,500,501), 7, 1, 0);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, demangledName, "
    "shortName)"
    " VALUES (130, 180, 0, 1, 7, 7, $G(1,500,0), 2, 3);"
    "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES (100, 200, 59, 'step', $G(1,500,501));";

inline const HealthFinding* finding(const ImportedTrace& t, std::string_view code) {
    for (const HealthFinding& f : t.source.health)
        if (f.code == code) return &f;
    return nullptr;
}

inline const LedgerEntry* entry(const ImportedTrace& t, std::string_view code) {
    for (const LedgerEntry& e : t.ledger.entries())
        if (e.code == code) return &e;
    return nullptr;
}

}  // namespace faultline::test
