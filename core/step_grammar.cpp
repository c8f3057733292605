#include "core/step_grammar.h"

#include <array>
#include <charconv>
#include <memory>

#include <fmt/format.h>
#include <re2/re2.h>

#include "core/embedded.h"
#include "core/rule_file.h"

namespace faultline {

namespace {

enum Field : std::size_t {
    f_number,
    f_tokens,
    f_batch,
    f_context_requests,
    f_context_tokens,
    f_generation_requests,
    f_generation_tokens,
    kFields
};
constexpr std::array<std::string_view, kFields> kFieldNames{
    "number", "tokens", "batch", "context_requests", "context_tokens", "generation_requests", "generation_tokens"};
constexpr std::array<std::string_view, 8> kRoleNames{"step", "phase", "begin", "capture", "outer", "frame", "sample", "graph"};
constexpr std::array<std::string_view, 4> kPhaseNames{"prefill", "decode", "mixed", "other"};
constexpr int kMaxGroups = 16;

/// Cuts `KEY digit…` and all that follows.
void cut_at(std::string_view& name, std::string_view key) {
    for (auto at = name.find(key); at != std::string_view::npos; at = name.find(key, at + 1)) {
        const std::size_t digit = at + key.size();
        if (digit < name.size() && name[digit] >= '0' && name[digit] <= '9') {
            name = name.substr(0, at);
            return;
        }
    }
}

bool same_word(std::string_view word, std::string_view upper) {
    if (word.size() != upper.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char c = word[i] >= 'a' && word[i] <= 'z' ? static_cast<char>(word[i] - 'a' + 'A') : word[i];
        if (c != upper[i]) return false;
    }
    return true;
}

/// Forward modes of SGLang and ATOM; verification of drafted tokens is the decode step of a speculating engine.
StepPhase phase_of_mode(std::string_view mode) {
    for (const auto* w : {"EXTEND", "PREFILL", "SPLIT_PREFILL"})
        if (same_word(mode, w)) return StepPhase::prefill;
    for (const auto* w : {"DECODE", "TARGET_VERIFY"})
        if (same_word(mode, w)) return StepPhase::decode;
    return same_word(mode, "MIXED") ? StepPhase::mixed : StepPhase::other;
}

StepPhase phase_of_counts(const StepText& t) {
    const bool context = t.context_requests.value_or(t.context_tokens.value_or(0)) > 0;
    const bool generation = t.generation_requests.value_or(t.generation_tokens.value_or(0)) > 0;
    if (context) return generation ? StepPhase::mixed : StepPhase::prefill;
    return generation ? StepPhase::decode : StepPhase::other;
}

/// What follows from the counts that the text gives.
void complete_counts(StepText& t, bool one_token_each) {
    if (t.batch && !t.context_requests && !t.generation_requests) {
        const bool prefill = t.phase == StepPhase::prefill;
        if (prefill || t.phase == StepPhase::decode) {
            (prefill ? t.context_requests : t.generation_requests) = t.batch;
            (prefill ? t.generation_requests : t.context_requests) = 0;
            (prefill ? t.generation_tokens : t.context_tokens) = 0;
        }
    }
    if (t.batch && t.generation_requests && !t.context_requests && *t.batch >= *t.generation_requests)
        t.context_requests = *t.batch - *t.generation_requests;
    if (!t.batch && (t.context_requests || t.generation_requests))
        t.batch = t.context_requests.value_or(0) + t.generation_requests.value_or(0);
    if (one_token_each && !t.tokens && t.phase == StepPhase::decode) t.tokens = t.batch;
    if (!t.tokens && t.context_tokens && t.generation_tokens) t.tokens = *t.context_tokens + *t.generation_tokens;
    if (t.tokens && t.phase == StepPhase::prefill && !t.context_tokens) t.context_tokens = t.tokens;
    if (t.tokens && t.phase == StepPhase::decode && !t.generation_tokens) t.generation_tokens = t.tokens;
}

}  // namespace

struct StepGrammar::Rule {
    enum class PhaseFrom : std::uint8_t { fixed, counts, mode };
    std::string name;
    std::unique_ptr<RE2> pattern;
    KindMask kinds = kind_bit(SpanKind::range);
    PhaseFrom phase_from = PhaseFrom::fixed;
    StepPhase phase = StepPhase::other;
    int mode_group = 0;
    std::array<int, kFields> groups{};
    bool one_token_each = false;
    StepRole role = StepRole::step;
    int line = 0;

    [[nodiscard]] std::optional<std::string> set(const RuleLine& l);
    [[nodiscard]] std::optional<std::string> set_phase(std::string_view value);
    [[nodiscard]] std::optional<std::string> set_pattern(std::string_view value);
    [[nodiscard]] std::optional<std::string> check() const;
    [[nodiscard]] std::optional<StepText> match(std::string_view text) const;
};

std::optional<std::string> StepGrammar::Rule::set_pattern(std::string_view value) {
    RE2::Options options;
    options.set_log_errors(false);
    pattern = std::make_unique<RE2>(re2::StringPiece(value.data(), value.size()), options);
    if (value.empty()) return "a pattern is missing after \"match\"";
    if (!pattern->ok()) return fmt::format("the pattern is no regular expression: {}", pattern->error());
    if (pattern->NumberOfCapturingGroups() > kMaxGroups) return fmt::format("the pattern has more than {} groups", kMaxGroups);
    return std::nullopt;
}

std::optional<std::string> StepGrammar::Rule::set_phase(std::string_view value) {
    constexpr std::string_view kFromMode = "from-mode";
    if (const auto fixed = rule_word(kPhaseNames, value)) {
        phase = static_cast<StepPhase>(*fixed);
    } else if (value == "from-counts") {
        phase_from = PhaseFrom::counts;
    } else if (value.substr(0, kFromMode.size()) == kFromMode) {
        value.remove_prefix(kFromMode.size());
        while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
        const auto group = rule_integer(value);
        if (!group || *group < 1 || *group > kMaxGroups) return std::string("\"phase from-mode\" needs the number of a group");
        phase_from = PhaseFrom::mode;
        mode_group = static_cast<int>(*group);
    } else {
        return fmt::format("unknown phase \"{}\" (prefill, decode, mixed, other, from-counts or from-mode GROUP)", value);
    }
    return std::nullopt;
}

std::optional<std::string> StepGrammar::Rule::set(const RuleLine& l) {
    if (l.key == "match") return set_pattern(l.value);
    if (l.key == "phase") return set_phase(l.value);
    if (l.key == "kinds") {
        std::string_view unknown;
        const auto mask = parse_kinds(l.value, unknown);
        if (!mask) return fmt::format("unknown span kind \"{}\"", unknown);
        kinds = *mask;
        return std::nullopt;
    }
    if (l.key == "role") {
        const auto at = rule_word(kRoleNames, l.value);
        if (!at) return fmt::format("unknown role \"{}\" ({})", l.value, fmt::join(kRoleNames, ", "));
        role = static_cast<StepRole>(*at);
        return std::nullopt;
    }
    if (l.key == "decode_tokens") {
        if (l.value != "batch") return fmt::format("\"decode_tokens\" can only be \"batch\", not \"{}\"", l.value);
        one_token_each = true;
        return std::nullopt;
    }
    return set_rule_group(kFieldNames, groups, kMaxGroups, l);
}

std::optional<std::string> StepGrammar::Rule::check() const {
    if (!pattern) return fmt::format("rule \"{}\" has no \"match\" line", name);
    const int has = pattern->NumberOfCapturingGroups();
    if (auto missing = check_rule_groups(kFieldNames, groups, has, name)) return missing;
    if (mode_group > has) return fmt::format("\"phase\" names group {}, but the pattern of rule \"{}\" has {}", mode_group, name, has);
    return std::nullopt;
}

std::optional<StepText> StepGrammar::Rule::match(std::string_view text) const {
    std::array<re2::StringPiece, kMaxGroups + 1> found;
    if (!pattern->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::UNANCHORED, found.data(),
                        pattern->NumberOfCapturingGroups() + 1))
        return std::nullopt;
    const auto group = [&](int g) {
        const re2::StringPiece& p = found[static_cast<std::size_t>(g)];
        return g == 0 ? std::string_view{} : std::string_view(p.data(), p.size());
    };
    const auto count = [&](Field f) { return rule_integer(group(groups[f])); };
    StepText t;
    t.dialect = name;
    t.role = role;
    t.phase = phase_from == PhaseFrom::mode ? phase_of_mode(group(mode_group)) : phase;
    t.number = count(f_number);
    t.tokens = count(f_tokens);
    t.batch = count(f_batch);
    t.context_requests = count(f_context_requests);
    t.context_tokens = count(f_context_tokens);
    t.generation_requests = count(f_generation_requests);
    t.generation_tokens = count(f_generation_tokens);
    if (phase_from == PhaseFrom::counts) t.phase = phase_of_counts(t);
    complete_counts(t, one_token_each);
    return t;
}

StepGrammar::StepGrammar() = default;
StepGrammar::StepGrammar(StepGrammar&&) noexcept = default;
StepGrammar& StepGrammar::operator=(StepGrammar&&) noexcept = default;
StepGrammar::~StepGrammar() = default;

Result<StepGrammar> StepGrammar::load(std::string_view text, std::string_view where) {
    StepGrammar grammar;
    for (const RuleLine& l : rule_lines(text)) {
        if (l.key == "rule") {
            if (l.value.empty()) return rule_error(where, l.number, "a rule needs a name");
            for (const Rule& r : grammar.rules_)
                if (r.name == l.value)
                    return rule_error(where, l.number, fmt::format("rule \"{}\" stands already in line {}", r.name, r.line));
            if (!grammar.rules_.empty())
                if (const auto wrong = grammar.rules_.back().check()) return rule_error(where, grammar.rules_.back().line, *wrong);
            grammar.rules_.emplace_back();
            grammar.rules_.back().name = std::string(l.value);
            grammar.rules_.back().line = l.number;
            continue;
        }
        if (grammar.rules_.empty()) return rule_error(where, l.number, fmt::format("\"{}\" stands before the first \"rule\" line", l.key));
        if (const auto wrong = grammar.rules_.back().set(l)) return rule_error(where, l.number, *wrong);
    }
    if (!grammar.rules_.empty())
        if (const auto wrong = grammar.rules_.back().check()) return rule_error(where, grammar.rules_.back().line, *wrong);
    for (const Rule& r : grammar.rules_) grammar.kinds_ |= r.kinds;
    return grammar;
}

StepGrammar StepGrammar::built_in() {
    auto grammar = load(embedded::kStepRules, "resources/rules/steps.rules");
    return grammar ? std::move(*grammar) : StepGrammar{};  // a test loads the same file and reports what is wrong
}

bool StepGrammar::covers(SpanKind kind) const noexcept { return (kinds_ & kind_bit(kind)) != 0; }

std::optional<StepText> StepGrammar::match(SpanKind kind, std::string_view name) const {
    if (!covers(kind)) return std::nullopt;
    cut_at(name, ", op_id = ");
    cut_at(name, ", seq = ");
    for (const Rule& r : rules_) {
        if ((r.kinds & kind_bit(kind)) == 0) continue;
        if (auto text = r.match(name)) return text;
    }
    return std::nullopt;
}

std::vector<std::string> StepGrammar::rules() const {
    std::vector<std::string> names;
    names.reserve(rules_.size());
    for (const Rule& r : rules_) names.push_back(r.name);
    return names;
}

}  // namespace faultline
