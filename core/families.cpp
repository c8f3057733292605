#include "core/families.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <memory>

#include "core/embedded.h"
#include "core/rule_file.h"

namespace faultline {

namespace {

constexpr std::size_t kMostFamilies = 1000;

RE2::Options quiet_options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(std::int64_t{32} << 20);
    return options;
}

bool is_family_word(std::string_view word) {
    return std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

struct FamilyRules::Rule {
    FamilyId family = FamilyId::other;
    KindMask kinds = 0;
    std::string pattern;
    std::unique_ptr<RE2> expression;
};

/// The rules of one kind as one automaton: a name is read once however many rules there are.
struct FamilyRules::KindSet {
    std::unique_ptr<RE2::Set> set;
    std::vector<std::uint32_t> rules;  ///< rule of each pattern in the set, ascending
};

FamilyRules::FamilyRules() : families_{"other"} {}
FamilyRules::FamilyRules(FamilyRules&&) noexcept = default;
FamilyRules& FamilyRules::operator=(FamilyRules&&) noexcept = default;
FamilyRules::~FamilyRules() = default;

Result<FamilyRules> FamilyRules::load(std::string_view text, std::string_view where) {
    FamilyRules rules;
    for (const RuleLine& l : rule_lines(text)) {
        if (!is_family_word(l.key))
            return rule_error(where, l.number, fmt::format("\"{}\" is no family (a word of a-z, 0-9 and _)", l.key));
        const auto blank = l.value.find_first_of(" \t");
        if (blank == std::string_view::npos) return rule_error(where, l.number, "a rule is FAMILY, kinds and a pattern");
        std::string_view unknown;
        const auto kinds = parse_kinds(l.value.substr(0, blank), unknown);
        if (!kinds) return rule_error(where, l.number, fmt::format("unknown span kind \"{}\"", unknown));
        const std::string_view pattern = l.value.substr(l.value.find_first_not_of(" \t", blank));
        auto expression = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), quiet_options());
        if (!expression->ok())
            return rule_error(where, l.number, fmt::format("the pattern is no regular expression: {}", expression->error()));
        auto family = std::find(rules.families_.begin(), rules.families_.end(), l.key);
        if (family == rules.families_.end()) {
            if (rules.families_.size() == kMostFamilies) return rule_error(where, l.number, "there are more than 1,000 families");
            rules.families_.emplace_back(l.key);
            family = rules.families_.end() - 1;
        }
        const auto id = static_cast<FamilyId>(family - rules.families_.begin());
        rules.rules_.push_back(Rule{id, *kinds, std::string(pattern), std::move(expression)});
    }
    rules.compile();
    return rules;
}

void FamilyRules::compile() {
    for (int k = 0; k < kSpanKindCount; ++k) {
        KindSet kind;
        kind.set = std::make_unique<RE2::Set>(quiet_options(), RE2::UNANCHORED);
        for (std::uint32_t r = 0; r < rules_.size(); ++r) {
            if ((rules_[r].kinds & kind_bit(static_cast<SpanKind>(k))) == 0) continue;
            kind.set->Add(rules_[r].pattern, nullptr);
            kind.rules.push_back(r);
        }
        if (kind.rules.empty() || !kind.set->Compile()) kind.set.reset();
        by_kind_.push_back(std::move(kind));
    }
}

FamilyRules FamilyRules::built_in() {
    auto rules = load(embedded::kFamilyRules, "resources/rules/families.rules");
    return rules ? std::move(*rules) : FamilyRules{};  // a test loads the same file and reports what is wrong
}

FamilyId FamilyRules::classify(SpanKind kind, std::string_view name) const {
    const auto at = static_cast<std::size_t>(kind);
    if (at >= by_kind_.size() || by_kind_[at].rules.empty()) return FamilyId::other;
    const KindSet& of_kind = by_kind_[at];
    const re2::StringPiece text(name.data(), name.size());
    std::vector<int> found;
    RE2::Set::ErrorInfo error{RE2::Set::kNoError};
    if (of_kind.set && of_kind.set->Match(text, &found, &error))
        return rules_[of_kind.rules[static_cast<std::size_t>(*std::min_element(found.begin(), found.end()))]].family;
    if (of_kind.set && error.kind == RE2::Set::kNoError) return FamilyId::other;
    for (const std::uint32_t r : of_kind.rules)  // the automaton outgrew its memory on this name
        if (RE2::PartialMatch(text, *rules_[r].expression)) return rules_[r].family;
    return FamilyId::other;
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
