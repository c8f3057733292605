// Names, labels and order of processes and threads from metadata events (phase M). One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/source_builder.h"
#include "importers/kineto/kineto_event.h"
#include "importers/kineto/trace_rows.h"

namespace faultline::kineto {

class RowNames {
public:
    /// Takes a metadata event; the last one of a kind wins. False where it says nothing that is known.
    bool take(const KinetoEvent& event, const std::vector<JsonMember>& members);
    /// Writes what was said to the rows that have spans.
    void apply(SourceBuilder& source, TraceRows& rows) const;

private:
    struct Said {
        std::string name, labels;
        std::optional<std::int64_t> sort_index;
    };
    std::unordered_map<std::string, Said> processes_;  ///< by pid key
    std::unordered_map<std::string, Said> threads_;    ///< by pid and tid key
};

}  // namespace faultline::kineto
