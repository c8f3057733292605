// Series of stack dumps: JSON lines around what `py-spy dump --json` prints (FORMATS §6).
//
//     {"t0": 1767225600000000000, "t1": 1767225600004000000, "traces": [{"pid": 4711, "thread_id": 140211, "os_thread_id": 4711,
//      "thread_name": "MainThread", "active": true, "owns_gil": true, "frames": [{"name": "step", "short_filename": "core.py", "line": 40}]}]}
//
// t0 and t1 are the wall clock (epoch ns) before and after the dump, frames come innermost first. One sample a thread and line, at the middle.
#pragma once

#include "importers/importer.h"

namespace faultline {

class DumpSeriesImporter final : public Importer {
public:
    [[nodiscard]] ImporterInfo info() const override;
    [[nodiscard]] Confidence sniff(std::string_view head, std::string_view name) const override;
    [[nodiscard]] Result<void> read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const override;
};

}  // namespace faultline
