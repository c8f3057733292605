#include "ml/simulator/base/run_options.h"

#include <array>
#include <utility>

namespace faultline::simulator {
namespace {

template <class Value, std::size_t N>
using Words = std::array<std::pair<Value, std::string_view>, N>;

constexpr Words<Engine, 5> kEngines{{{Engine::vllm_v0, "vllm-v0"},
                                     {Engine::vllm_v1_offline, "vllm-v1-offline"},
                                     {Engine::vllm_v1_online, "vllm-v1-online"},
                                     {Engine::sglang, "sglang"},
                                     {Engine::fsdp, "fsdp"}}};
constexpr Words<GraphMode, 3> kGraphModes{{{GraphMode::none, "none"}, {GraphMode::piecewise, "piecewise"}, {GraphMode::full, "full"}}};
constexpr Words<Dialect, 6> kDialects{{{Dialect::semantic, "semantic"},
                                       {Dialect::engine_current, "engine"},
                                       {Dialect::engine_older, "engine-older"},
                                       {Dialect::engine_detailed, "engine-detailed"},
                                       {Dialect::engine_scopes, "engine-scopes"},
                                       {Dialect::none, "none"}}};

template <class Value, std::size_t N>
std::string_view word_of(const Words<Value, N>& words, Value value) noexcept {
    for (const auto& [known, word] : words) {
        if (known == value) return word;
    }
    return {};
}

template <class Value, std::size_t N>
std::optional<Value> value_of(const Words<Value, N>& words, std::string_view word) noexcept {
    for (const auto& [value, known] : words) {
        if (known == word) return value;
    }
    return std::nullopt;
}

}  // namespace

std::string_view engine_name(Engine engine) noexcept { return word_of(kEngines, engine); }
std::optional<Engine> engine_named(std::string_view name) noexcept { return value_of(kEngines, name); }
std::string_view graph_mode_name(GraphMode mode) noexcept { return word_of(kGraphModes, mode); }
std::optional<GraphMode> graph_mode_named(std::string_view name) noexcept { return value_of(kGraphModes, name); }
std::string_view dialect_name(Dialect dialect) noexcept { return word_of(kDialects, dialect); }
std::optional<Dialect> dialect_named(std::string_view name) noexcept { return value_of(kDialects, name); }

}  // namespace faultline::simulator
