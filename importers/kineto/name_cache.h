// Interning span names by their raw JSON text: one hash and one comparison where a name was met before. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/source_builder.h"
#include "importers/kineto/strict_json.h"

namespace faultline::kineto {

class NameCache {
public:
    NameCache(SourceBuilder& source, StrictJson& json);

    /// The id of the name whose raw JSON text (between the quotes) is `raw`.
    [[nodiscard]] NameId find(std::string_view raw);

private:
    struct Slot {
        std::uint64_t hash = 0;
        const std::string* raw = nullptr;  ///< null where the slot is free
        NameId name{};
    };
    void grow();

    SourceBuilder& source_;
    StrictJson& json_;
    std::deque<std::string> raws_;
    std::vector<Slot> slots_;
};

}  // namespace faultline::kineto
