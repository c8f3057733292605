// The contract of a format: how bytes become spans (DESIGN §5).
//
// An importer keeps no state between files, opens no dialog, never holds a whole file in memory, and drops nothing in silence:
// a file that cannot be used at all is an Error; a bad record is repaired or dropped in the ledger and the import goes on.
#pragma once

#include <string_view>

#include "core/import_ledger.h"
#include "core/progress.h"
#include "core/result.h"
#include "core/source_builder.h"
#include "importers/source_file.h"

namespace faultline {

struct ImporterInfo {
    std::string_view name;      ///< stable, e.g. "kineto"
    std::string_view title;     ///< for a person
    std::string_view suffixes;  ///< for a file dialog, e.g. "*.json *.json.gz"
    std::string_view clock;     ///< clock domain of its times, in words
    bool after_traces = false;  ///< read after the other inputs, since its clock is found by comparing with theirs
};

/// 0 is "not mine", 100 "certainly mine".
using Confidence = int;

class Importer {
public:
    virtual ~Importer() = default;
    [[nodiscard]] virtual ImporterInfo info() const = 0;
    /// `head` are the first bytes, already inflated; `name` is the file's name without folder.
    [[nodiscard]] virtual Confidence sniff(std::string_view head, std::string_view name) const = 0;
    [[nodiscard]] virtual Result<void> read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger,
                                            const Progress& progress) const = 0;
};

}  // namespace faultline
