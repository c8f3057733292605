// Chrome trace files: PyTorch profiler (Kineto) and every other producer of the format (FORMATS §2, §3).
#pragma once

#include "importers/importer.h"

namespace faultline {

class KinetoImporter final : public Importer {
public:
    [[nodiscard]] ImporterInfo info() const override;
    [[nodiscard]] Confidence sniff(std::string_view head, std::string_view name) const override;
    [[nodiscard]] Result<void> read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const override;
};

}  // namespace faultline
