// A trace text read by the Kineto importer into a builder of its own, for tests. Writes a temporary file.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/import_ledger.h"
#include "core/result.h"
#include "core/source_builder.h"

namespace faultline::test {

struct ImportedTrace {
    InternedNames names;
    InternedTexts texts;
    std::vector<TextBlock> blocks;
    SourceBuilder source{SourceId{1}, {1, 1, 1, 1}, names, texts};
    ImportLedger ledger;
    Result<void> result;

    /// The first track of a kind, or null.
    [[nodiscard]] const TrackBuffer* track(TrackKind kind) const;
    [[nodiscard]] std::string name(const TrackBuffer& track, std::uint32_t at) const { return std::string(names.text(track.names[at])); }
    /// Position of the first span with this name in a track; -1 where there is none.
    [[nodiscard]] std::int64_t find(const TrackBuffer& track, std::string_view name) const;
    /// The track that holds a span with this name, or null.
    [[nodiscard]] const TrackBuffer* holder(std::string_view name) const;
    [[nodiscard]] std::uint64_t count(std::string_view code) const;  ///< of a ledger entry
    [[nodiscard]] std::uint64_t spans(SpanKind kind) const;
    /// Arguments of a span as JSON text.
    [[nodiscard]] std::string args(const TrackBuffer& track, std::uint32_t at);
};

/// `file_name` is what the importer takes a rank from.
[[nodiscard]] std::unique_ptr<ImportedTrace> import_trace(std::string_view text, const std::string& file_name = "trace.json");
[[nodiscard]] std::unique_ptr<ImportedTrace> import_trace_file(const std::string& path);

/// Bytes of a file, inflated where it is gzip. Empty where it cannot be read.
[[nodiscard]] std::string read_inflated(const std::string& path);
/// The folder of real captures, or empty where there is none.
[[nodiscard]] std::string shared_captures();
/// `text` as one gzip member.
[[nodiscard]] std::string gzipped(std::string_view text);

}  // namespace faultline::test
