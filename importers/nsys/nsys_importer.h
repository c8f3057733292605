// Nsight Systems databases, as `nsys export --type sqlite` writes them: schemas 2.x (2020) to 3.28 (2026), FORMATS §1.
//
//     NVTX_EVENTS(start, end, eventType, text, globalTid, …)              ranges and marks of host threads
//     CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId, …)
//     CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName, …)
//
// Tables exist only where the capture has data for them, rows come in any order, and columns moved between releases: every table is
// probed, every column is optional. Tables that are not read are named in the ledger with the number of their rows. A database of
// another program is refused by what it is (database_kind.h).
#pragma once

#include "importers/importer.h"

namespace faultline {

class NsysImporter final : public Importer {
public:
    [[nodiscard]] ImporterInfo info() const override;
    [[nodiscard]] Confidence sniff(std::string_view head, std::string_view name) const override;
    /// A file cut short or damaged is read as far as its pages go; what could not be read is in the ledger with its place.
    [[nodiscard]] Result<void> read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const override;
};

}  // namespace faultline
