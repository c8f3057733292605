#include "core/families.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/embedded.h"
#include "core/rule_file.h"

namespace faultline {

namespace {

constexpr std::size_t kMostFamilies = 1000;

bool is_family_word(std::string_view word) {
    return std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

Result<FamilyRules> FamilyRules::load(std::string_view text, std::string_view where) {
    FamilyRules rules;
    for (const RuleLine& l : rule_lines(text)) {
        if (!is_family_word(l.key))
            return rule_error(where, l.number, fmt::format("\"{}\" is no family (a word of a-z, 0-9 and _)", l.key));
        auto family = std::find(rules.families_.begin(), rules.families_.end(), l.key);
        if (family == rules.families_.end()) {
            if (rules.families_.size() == kMostFamilies) return rule_error(where, l.number, "there are more than 1,000 families");
            rules.families_.emplace_back(l.key);
            family = rules.families_.end() - 1;
        }
        const auto id = static_cast<std::uint32_t>(family - rules.families_.begin());
        if (Result<void> ok = rules.patterns_.add(l, where, id); !ok) return tl::unexpected<Error>(ok.error());
    }
    rules.patterns_.compile();
    return rules;
}

FamilyRules FamilyRules::built_in() {
    auto rules = load(embedded::kFamilyRules, "resources/rules/families.rules");
    return rules ? std::move(*rules) : FamilyRules{};  // a test loads the same file and reports what is wrong
}

FamilyId FamilyRules::classify(SpanKind kind, std::string_view name) const {
    return static_cast<FamilyId>(patterns_.first_match(kind, name).value_or(0));
}

std::string_view FamilyRules::name(FamilyId id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    return at < families_.size() ? std::string_view(families_[at]) : std::string_view(families_.front());
}

FamilyId NameFamilies::id(SpanKind kind, NameId name) {
    const std::uint64_t key = (std::uint64_t{index_of(name)} << 8) | static_cast<std::uint64_t>(kind);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_.emplace(key, rules_.classify(kind, capture_.name(name))).first->second;
}

}  // namespace faultline
