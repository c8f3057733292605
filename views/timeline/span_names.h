// The names of spans as the timeline shows them, found once for each name.
//
// GUI thread. The reader outlives the table.
#pragma once

#include <QString>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/capture_reader.h"
#include "core/layer_rules.h"
#include "core/model.h"

namespace faultline {

/// What a label shows of a full name: a kernel without return type, arguments and template arguments; a Python frame as its function,
/// then the file; anything else as it is. A pure function.
[[nodiscard]] QString short_name(SpanKind kind, std::string_view full);

struct ShownName {
    QString label;
    unsigned shade = 0;       ///< equal for equal labels
    bool collective = false;  ///< communication by the layer rules (COMM)
};

class SpanNames {
public:
    explicit SpanNames(const CaptureReader* reader) : reader_(reader), rules_(LayerRules::built_in()) {}
    [[nodiscard]] const ShownName& shown(SpanKind kind, NameId name);
    [[nodiscard]] QString full(NameId name) const;

private:
    const CaptureReader* reader_;
    LayerRules rules_;
    /// Nearly every name belongs to one kind: found by its number alone. The rest is looked up by kind and name.
    struct Slot {
        SpanKind kind = SpanKind::other;
        const ShownName* shown = nullptr;
    };
    std::vector<Slot> slots_;
    std::unordered_map<std::uint64_t, ShownName> shown_;
};

}  // namespace faultline
