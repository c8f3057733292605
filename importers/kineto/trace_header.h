// What a trace says about itself outside its events: clock base, rank, devices, versions (FORMATS §2.1). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/import_ledger.h"
#include "core/source_builder.h"
#include "importers/kineto/strict_json.h"

namespace faultline::kineto {

/// The number in `rank_3`, `rank-3`, `rank3`, `TP-3` or `TP3` of a file's name; `where` is that part of it.
struct RankInName {
    std::int64_t rank = 0;
    std::string where;
};
[[nodiscard]] std::optional<RankInName> rank_in_name(std::string_view file_name);

class TraceHeader {
public:
    TraceHeader(SourceBuilder& source, StrictJson& json, ImportLedger& ledger) : source_(source), json_(json), ledger_(ledger) {}

    /// A member of the top level; a key that comes again replaces what it said before. `value` is empty where it was too long to keep.
    void take(std::string_view key, std::string_view value, std::uint64_t offset);

    /// Writes metadata, rank and clock to the source. `latest` is the latest time of any event, where there is one.
    void finish(std::string_view file_name, std::optional<TimeNs> latest);

    [[nodiscard]] bool from_kineto() const noexcept { return from_kineto_; }

private:
    void take_devices(std::string_view value);
    void take_distributed(std::string_view value);

    SourceBuilder& source_;
    StrictJson& json_;
    ImportLedger& ledger_;
    std::map<std::string, std::string> metadata_;  ///< key (raw) to JSON
    std::optional<std::int64_t> base_ns_;
    bool from_kineto_ = false;
};

}  // namespace faultline::kineto
