#include "core/layer_rules.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include "core/embedded.h"
#include "core/rule_file.h"

namespace faultline {

std::string_view layer_class_name(LayerClass c) noexcept {
    constexpr std::array<std::string_view, 7> names{"", "step", "frontend", "backend", "comm", "host", "kernel"};
    const auto at = static_cast<std::size_t>(c);
    return at < names.size() ? names[at] : std::string_view{};
}

namespace {

RE2::Options quiet_options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(std::int64_t{32} << 20);
    return options;
}

std::optional<LayerClass> parse_class(std::string_view word) {
    constexpr std::array<std::string_view, 6> words{"STEP", "FRONTEND", "BACKEND", "COMM", "HOST", "KERNEL"};
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] == word) return static_cast<LayerClass>(i + 1);
    return std::nullopt;
}

LayerClass default_layer(SpanKind kind) {
    if (is_api_call(kind) || kind == SpanKind::os_call) return LayerClass::host;
    return is_device_work(kind) ? LayerClass::kernel : LayerClass::none;
}

}  // namespace

struct LayerRules::Rule {
    LayerClass layer = LayerClass::none;
    KindMask kinds = 0;
    std::string pattern;
    std::unique_ptr<RE2> expression;
};

/// The rules of one kind as one automaton: a name is read once however many rules there are.
struct LayerRules::KindSet {
    std::unique_ptr<RE2::Set> set;
    std::vector<std::uint32_t> rules;  ///< rule of each pattern in the set, ascending
};

LayerRules::LayerRules() = default;
LayerRules::LayerRules(LayerRules&&) noexcept = default;
LayerRules& LayerRules::operator=(LayerRules&&) noexcept = default;
LayerRules::~LayerRules() = default;

Result<LayerRules> LayerRules::load(std::string_view text, std::string_view where) {
    LayerRules rules;
    for (const RuleLine& l : rule_lines(text)) {
        const auto layer = parse_class(l.key);
        if (!layer)
            return rule_error(where, l.number, fmt::format("unknown class \"{}\" (STEP, FRONTEND, BACKEND, COMM, HOST or KERNEL)", l.key));
        const auto blank = l.value.find_first_of(" \t");
        if (blank == std::string_view::npos) return rule_error(where, l.number, "a rule is CLASS, kinds and a pattern");
        std::string_view unknown;
        const auto kinds = parse_kinds(l.value.substr(0, blank), unknown);
        if (!kinds) return rule_error(where, l.number, fmt::format("unknown span kind \"{}\"", unknown));
        const std::string_view pattern = l.value.substr(l.value.find_first_not_of(" \t", blank));
        auto expression = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), quiet_options());
        if (!expression->ok())
            return rule_error(where, l.number, fmt::format("the pattern is no regular expression: {}", expression->error()));
        rules.rules_.push_back(Rule{*layer, *kinds, std::string(pattern), std::move(expression)});
    }
    rules.compile();
    return rules;
}

void LayerRules::compile() {
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

LayerRules LayerRules::built_in() {
    auto rules = load(embedded::kLayerRules, "resources/rules/layers.rules");
    return rules ? std::move(*rules) : LayerRules{};  // a test loads the same file and reports what is wrong
}

LayerClass LayerRules::classify(SpanKind kind, std::string_view name) const {
    const auto at = static_cast<std::size_t>(kind);
    if (at >= by_kind_.size() || by_kind_[at].rules.empty()) return default_layer(kind);
    const KindSet& of_kind = by_kind_[at];
    const re2::StringPiece text(name.data(), name.size());
    std::vector<int> found;
    RE2::Set::ErrorInfo error{RE2::Set::kNoError};
    if (of_kind.set && of_kind.set->Match(text, &found, &error))
        return rules_[of_kind.rules[static_cast<std::size_t>(*std::min_element(found.begin(), found.end()))]].layer;
    if (of_kind.set && error.kind == RE2::Set::kNoError) return default_layer(kind);
    for (const std::uint32_t r : of_kind.rules)  // the automaton outgrew its memory on this name
        if (RE2::PartialMatch(text, *rules_[r].expression)) return rules_[r].layer;
    return default_layer(kind);
}

}  // namespace faultline
