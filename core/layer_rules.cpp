#include "core/layer_rules.h"

#include <fmt/format.h>

#include <array>

#include "core/embedded.h"
#include "core/rule_file.h"

namespace faultline {

std::string_view layer_class_name(LayerClass c) noexcept {
    constexpr std::array<std::string_view, 7> names{"", "step", "frontend", "backend", "comm", "host", "kernel"};
    const auto at = static_cast<std::size_t>(c);
    return at < names.size() ? names[at] : std::string_view{};
}

namespace {

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

Result<LayerRules> LayerRules::load(std::string_view text, std::string_view where) {
    LayerRules rules;
    for (const RuleLine& l : rule_lines(text)) {
        const auto layer = parse_class(l.key);
        if (!layer)
            return rule_error(where, l.number, fmt::format("unknown class \"{}\" (STEP, FRONTEND, BACKEND, COMM, HOST or KERNEL)", l.key));
        if (Result<void> ok = rules.patterns_.add(l, where, static_cast<std::uint32_t>(*layer)); !ok) return tl::unexpected<Error>(ok.error());
    }
    rules.patterns_.compile();
    return rules;
}

LayerRules LayerRules::built_in() {
    auto rules = load(embedded::kLayerRules, "resources/rules/layers.rules");
    return rules ? std::move(*rules) : LayerRules{};  // a test loads the same file and reports what is wrong
}

LayerClass LayerRules::classify(SpanKind kind, std::string_view name) const {
    const auto found = patterns_.first_match(kind, name);
    return found ? static_cast<LayerClass>(*found) : default_layer(kind);
}

}  // namespace faultline
