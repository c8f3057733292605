#include "core/kind_patterns.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <string>

namespace faultline {

namespace {

RE2::Options quiet_options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(std::int64_t{32} << 20);
    return options;
}

}  // namespace

struct KindPatterns::Rule {
    std::uint32_t label = 0;
    KindMask kinds = 0;
    std::string pattern;
    std::unique_ptr<RE2> expression;
};

/// The rules of one kind as one automaton.
struct KindPatterns::KindSet {
    std::unique_ptr<RE2::Set> set;
    std::vector<std::uint32_t> rules;  ///< rule of each pattern in the set, ascending
};

KindPatterns::KindPatterns() = default;
KindPatterns::KindPatterns(KindPatterns&&) noexcept = default;
KindPatterns& KindPatterns::operator=(KindPatterns&&) noexcept = default;
KindPatterns::~KindPatterns() = default;

Result<void> KindPatterns::add(const RuleLine& line, std::string_view where, std::uint32_t label) {
    const auto blank = line.value.find_first_of(" \t");
    if (blank == std::string_view::npos) return rule_error(where, line.number, "a rule is a word, kinds and a pattern");
    std::string_view unknown;
    const auto kinds = parse_kinds(line.value.substr(0, blank), unknown);
    if (!kinds) return rule_error(where, line.number, fmt::format("unknown span kind \"{}\"", unknown));
    const std::string_view pattern = line.value.substr(line.value.find_first_not_of(" \t", blank));
    auto expression = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), quiet_options());
    if (!expression->ok())
        return rule_error(where, line.number, fmt::format("the pattern is no regular expression: {}", expression->error()));
    rules_.push_back(Rule{label, *kinds, std::string(pattern), std::move(expression)});
    return {};
}

void KindPatterns::compile() {
    by_kind_.clear();
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

std::optional<std::uint32_t> KindPatterns::first_match(SpanKind kind, std::string_view name) const {
    const auto at = static_cast<std::size_t>(kind);
    if (at >= by_kind_.size() || by_kind_[at].rules.empty()) return std::nullopt;
    const KindSet& of_kind = by_kind_[at];
    const re2::StringPiece text(name.data(), name.size());
    std::vector<int> found;
    RE2::Set::ErrorInfo error{RE2::Set::kNoError};
    if (of_kind.set && of_kind.set->Match(text, &found, &error))
        return rules_[of_kind.rules[static_cast<std::size_t>(*std::min_element(found.begin(), found.end()))]].label;
    if (of_kind.set && error.kind == RE2::Set::kNoError) return std::nullopt;
    for (const std::uint32_t r : of_kind.rules)  // the automaton outgrew its memory on this name
        if (RE2::PartialMatch(text, *rules_[r].expression)) return rules_[r].label;
    return std::nullopt;
}

}  // namespace faultline
