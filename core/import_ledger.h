// What happened to every record of an import: read, repaired, dropped or metadata, with reason and place.
//
// Rule: read + dropped is the number of event records in the input; repaired is the part of read that was changed; records that
// only name things are metadata. Not thread-safe: one import owns one ledger.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

/// What became of the records that have a reason.
enum class LedgerOutcome : std::uint8_t { repaired = 0, dropped = 1, note = 2 };

/// One reason with its count and the first places it happened at (`byte 4711`, `row 12`, `span cudaLaunchKernel at …`).
struct LedgerEntry {
    static constexpr std::size_t kMaxSamples = 20;
    LedgerOutcome outcome = LedgerOutcome::note;
    std::string code;      ///< stable, e.g. "kineto.bad-json"
    std::string sentence;  ///< for a person
    std::uint64_t count = 0;
    std::vector<std::string> samples;
};

struct LedgerTotals {
    std::uint64_t read = 0, repaired = 0, dropped = 0, metadata = 0;
};

class ImportLedger {
public:
    void add_read(std::uint64_t n = 1) noexcept { totals_.read += n; }
    void add_metadata(std::uint64_t n = 1) noexcept { totals_.metadata += n; }

    /// A record that was kept in a changed form. The caller has counted it as read; a record repaired for two reasons is
    /// counted once in the totals when `again` is set on the second call.
    void repaired(std::string_view code, std::string_view sentence, std::string_view place, bool again = false);
    /// A record that was not kept (not counted as read).
    void dropped(std::string_view code, std::string_view sentence, std::string_view place, std::uint64_t n = 1);
    /// Something a person should know that changed no record (unbound kernels, skipped bytes).
    void note(std::string_view code, std::string_view sentence, std::string_view place, std::uint64_t n = 1);

    [[nodiscard]] const LedgerTotals& totals() const noexcept { return totals_; }
    [[nodiscard]] const std::vector<LedgerEntry>& entries() const noexcept { return entries_; }

private:
    LedgerEntry& entry(LedgerOutcome outcome, std::string_view code, std::string_view sentence);
    LedgerTotals totals_;
    std::vector<LedgerEntry> entries_;
};

}  // namespace faultline
