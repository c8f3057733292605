#include "importers/kineto/name_cache.h"

#include <cstring>
#include <utility>

namespace faultline::kineto {

namespace {

constexpr std::size_t kFirstSlots = 4096;

/// Multiplies eight bytes at a time; the tail is read again from the end. Names come from files, so an attacker may choose clashes:
/// they cost time in the table, never a wrong name.
std::uint64_t hash_of(std::string_view s) noexcept {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
    std::uint64_t h = s.size() * kFactor;
    const auto mix = [&](const char* p) {
        std::uint64_t word = 0;
        std::memcpy(&word, p, sizeof word);
        h = (h ^ word) * kFactor;
        h ^= h >> 29;
    };
    if (s.size() < 8) {
        std::uint64_t word = 0;
        if (!s.empty()) std::memcpy(&word, s.data(), s.size());
        h = (h ^ word) * kFactor;
        return h ^ (h >> 29);
    }
    std::size_t i = 0;
    for (; i + 8 <= s.size(); i += 8) mix(s.data() + i);
    if (i < s.size()) mix(s.data() + s.size() - 8);
    return h;
}

}  // namespace

NameCache::NameCache(SourceBuilder& source, StrictJson& json) : source_(source), json_(json), slots_(kFirstSlots) {}

NameId NameCache::find(std::string_view raw) {
    const std::uint64_t hash = hash_of(raw);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (; slots_[at].raw != nullptr; at = (at + 1) & mask)
        if (slots_[at].hash == hash && *slots_[at].raw == raw) return slots_[at].name;
    const bool plain = raw.find('\\') == std::string_view::npos;
    const NameId name = plain ? source_.name(raw) : source_.name(json_.unescaped(raw));
    slots_[at] = {hash, &raws_.emplace_back(raw), name};
    if (raws_.size() * 2 > slots_.size()) grow();
    return name;
}

void NameCache::grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
        if (slot.raw == nullptr) continue;
        std::size_t at = slot.hash & mask;
        while (slots_[at].raw != nullptr) at = (at + 1) & mask;
        slots_[at] = slot;
    }
}

}  // namespace faultline::kineto
