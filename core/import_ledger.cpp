#include "core/import_ledger.h"

#include <algorithm>

namespace faultline {

LedgerEntry& ImportLedger::entry(LedgerOutcome outcome, std::string_view code, std::string_view sentence) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const LedgerEntry& e) { return e.outcome == outcome && e.code == code; });
    if (found != entries_.end()) return *found;
    entries_.push_back({outcome, std::string(code), std::string(sentence), 0, {}});
    return entries_.back();
}

namespace {

void count(LedgerEntry& entry, std::string_view place, std::uint64_t n) {
    entry.count += n;
    if (entry.samples.size() < LedgerEntry::kMaxSamples && !place.empty()) entry.samples.emplace_back(place);
}

}  // namespace

void ImportLedger::repaired(std::string_view code, std::string_view sentence, std::string_view place, bool again) {
    count(entry(LedgerOutcome::repaired, code, sentence), place, 1);
    if (!again) ++totals_.repaired;
}

void ImportLedger::dropped(std::string_view code, std::string_view sentence, std::string_view place, std::uint64_t n) {
    count(entry(LedgerOutcome::dropped, code, sentence), place, n);
    totals_.dropped += n;
}

void ImportLedger::note(std::string_view code, std::string_view sentence, std::string_view place, std::uint64_t n) {
    count(entry(LedgerOutcome::note, code, sentence), place, n);
}

}  // namespace faultline
