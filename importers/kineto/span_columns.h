// Columns of a span from the arguments of its event: numbers as they are, the rest as one interned JSON text. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#include "core/source_builder.h"
#include "importers/kineto/kineto_event.h"
#include "importers/kineto/strict_json.h"

namespace faultline::kineto {

class SpanColumns {
public:
    SpanColumns(SourceBuilder& source, StrictJson& json) : source_(source), json_(json) {}

    /// The rest of the arguments as a text (0 where there is none), with device and stream where the track does not say them. Nothing
    /// where they are no JSON: a damaged value that the parser skipped.
    [[nodiscard]] std::optional<TextId> rest(const KinetoEvent& event, bool on_device);
    /// Sets the columns of span `at`.
    static void set(TrackBuffer& track, std::uint32_t at, const KinetoEvent& event, TextId rest);

private:
    SourceBuilder& source_;
    StrictJson& json_;
    std::string text_;
    std::uint32_t newest_text_ = 0;
    std::unordered_set<std::uint32_t> bad_;  ///< texts that are no JSON
};

/// Bytes of one element of a collective's "dtype"; 0 where the type is not known.
[[nodiscard]] std::int64_t element_bytes(std::string_view type) noexcept;

}  // namespace faultline::kineto
