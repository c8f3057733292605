// Binding device spans to the API calls that launched them (TELLER §3.3; ENGINES §3 importer traps).
//
// By (process, correlation): a graph launch binds many; ids that come again after a wrap bind to the nearest call in time; a device
// span whose process is not known binds only where the id occurs in one process. What finds no call stays unbound and is counted.
#pragma once

#include <cstdint>

#include "core/import_ledger.h"
#include "core/source_builder.h"

namespace faultline {

struct BindingCounts {
    std::uint64_t bound_kernels = 0;
    std::uint64_t unbound_kernels = 0;
};

/// Sets `launch` on device spans and `graph_launch` on calls that launched another number of them than one. Tracks are sorted and nested.
[[nodiscard]] BindingCounts bind_launches(SourceBuilder& source, ImportLedger& ledger);

/// Sets `link` on backward operators (fwdbwd) from the links of the source.
void bind_host_links(SourceBuilder& source, ImportLedger& ledger);

}  // namespace faultline
