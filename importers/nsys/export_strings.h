// The texts of StringIds as interned names, each looked up when it is first used: the table also holds whole outputs of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/source_builder.h"
#include "importers/nsys/table_scan.h"

namespace faultline::nsys {

/// `text` with every byte that is no UTF-8, and every zero byte, replaced by U+FFFD; nothing where it is fine as it is.
[[nodiscard]] std::optional<std::string> repaired_text(std::string_view text);

/// `cudaLaunchKernel_v7000` without the version of its binary interface.
[[nodiscard]] std::string_view without_version(std::string_view name) noexcept;

class ExportStrings {
public:
    ExportStrings(const ScanContext& context, SourceBuilder& source);

    /// The name with this id; "string N" where the table has none.
    [[nodiscard]] NameId name(std::int64_t id);
    /// The same without the version suffix.
    [[nodiscard]] NameId call_name(std::int64_t id);
    /// A text that stands in a row itself.
    [[nodiscard]] NameId name_of(std::string_view text);
    [[nodiscard]] std::string text(std::int64_t id);  ///< empty where the table has none
    [[nodiscard]] bool has(std::int64_t id) { return look_up(id).has_value(); }

private:
    static constexpr std::uint32_t kUnknown = static_cast<std::uint32_t>(-1);
    using Known = std::vector<std::uint32_t>;
    [[nodiscard]] std::uint32_t& slot(Known& dense, std::unordered_map<std::int64_t, std::uint32_t>& sparse, std::int64_t id);
    [[nodiscard]] std::optional<std::string> look_up(std::int64_t id);
    void load_all();

    const ScanContext& context_;
    SourceBuilder& source_;
    sql::Statement by_id_;
    bool loaded_ = false;  ///< the table has no key: all of it is in memory
    std::unordered_map<std::int64_t, std::string> all_;
    Known names_, call_names_;
    std::unordered_map<std::int64_t, std::uint32_t> far_names_, far_call_names_;
};

}  // namespace faultline::nsys
