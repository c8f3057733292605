#include "importers/service_log/status_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "importers/service_log/text_scan.h"

namespace faultline::service_log {

namespace {

struct KnownKey {
    std::string_view key, name;
};

constexpr std::array kKnown{
    // vLLM
    KnownKey{"Avg prompt throughput", "Prompt throughput (tokens/s)"},
    KnownKey{"Avg generation throughput", "Generation throughput (tokens/s)"},
    KnownKey{"Running", "Running requests"},
    KnownKey{"Waiting", "Waiting requests"},
    KnownKey{"Pending", "Waiting requests"},
    KnownKey{"Swapped", "Swapped requests"},
    KnownKey{"Deferred", "Deferred requests"},
    KnownKey{"Corrupted", "Corrupted requests"},
    KnownKey{"Preemptions", "Preemptions"},
    KnownKey{"GPU KV cache usage", "KV cache usage (%)"},
    KnownKey{"CPU KV cache usage", "CPU KV cache usage (%)"},
    KnownKey{"Prefix cache hit rate", "Prefix cache hit rate (%)"},
    KnownKey{"Prefix cache hit rate: GPU", "Prefix cache hit rate (%)"},
    KnownKey{"CPU", "CPU prefix cache hit rate (%)"},
    KnownKey{"iteration elapsed time", "Iteration time (ms)"},
    KnownKey{"context requests", "Context requests"},
    KnownKey{"context tokens", "Context tokens"},
    KnownKey{"generation requests", "Generation requests"},
    KnownKey{"generation tokens", "Generation tokens"},
    KnownKey{"Accepted", "Accepted tokens"},
    KnownKey{"Drafted", "Drafted tokens"},
    KnownKey{"Draft acceptance rate", "Draft acceptance rate (%)"},
    KnownKey{"Avg Draft acceptance rate", "Draft acceptance rate (%)"},
    // SGLang
    KnownKey{"#running-req", "Running requests"},
    KnownKey{"#queue-req", "Waiting requests"},
    KnownKey{"#new-seq", "New sequences"},
    KnownKey{"#new-token", "New tokens"},
    KnownKey{"#cached-token", "Cached tokens"},
    KnownKey{"#pending-token", "Pending tokens"},
    KnownKey{"#token", "Tokens in KV cache"},
    KnownKey{"#full token", "Tokens in KV cache"},
    KnownKey{"#swa token", "Tokens in sliding-window cache"},
    KnownKey{"token usage", "Token usage"},
    KnownKey{"full token usage", "Token usage"},
    KnownKey{"swa token usage", "Sliding-window token usage"},
    KnownKey{"gen throughput (token/s)", "Generation throughput (tokens/s)"},
    KnownKey{"input throughput (token/s)", "Prompt throughput (tokens/s)"},
    KnownKey{"cache hit rate", "Prefix cache hit rate (%)"},
    KnownKey{"cuda graph", "CUDA graph"},
    KnownKey{"cpu graph", "CPU graph"},
    KnownKey{"npu graph", "NPU graph"},
    KnownKey{"accept len", "Accepted length"},
    KnownKey{"accept rate", "Acceptance rate"},
    KnownKey{"#retracted_reqs", "Retracted requests"},
    KnownKey{"#retracted-req", "Retracted requests"},
    KnownKey{"#prealloc-req", "Preallocating requests"},
    KnownKey{"#transfer-req", "Transferring requests"},
    KnownKey{"#inflight-req", "In-flight requests"},
    KnownKey{"#unbootstrapped-req", "Unbootstrapped requests"},
};

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && (is_blank(text.back()) || text.back() == '.' || text.back() == ',')) text.remove_suffix(1);
    return text;
}

std::optional<double> number_of(std::string_view& text) noexcept {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

std::string counter_name(std::string_view key, std::string_view unit) {
    const auto it = std::find_if(kKnown.begin(), kKnown.end(), [&](const KnownKey& k) { return k.key == key; });
    if (it != kKnown.end()) return std::string(it->name);
    if (key.starts_with('#')) key.remove_prefix(1);
    std::string name(key);
    std::replace(name.begin(), name.end(), '_', ' ');
    if (!name.empty() && name.front() >= 'a' && name.front() <= 'z') name.front() = static_cast<char>(name.front() - 'a' + 'A');
    const bool has_unit = !name.empty() && name.back() == ')';
    return unit.empty() || has_unit || unit.size() > 16 ? name : fmt::format("{} ({})", name, unit);
}

class StatusReader {
public:
    explicit StatusReader(std::string prefix) : prefix_(std::move(prefix)) {}

    /// "key: value unit, key: value unit, …"; a value without key goes on the list of the key before it.
    void read(std::string_view text) {
        while (!text.empty()) {
            std::size_t end = std::min(text.find(", "), text.size());
            take(trimmed(text.substr(0, end)));
            text.remove_prefix(std::min(text.size(), end + 2));
        }
    }
    void add(std::string_view key, std::string_view unit, double value) {
        std::string name = prefix_ + counter_name(key, unit);
        const bool there = std::any_of(out_.begin(), out_.end(), [&](const StatusValue& v) { return v.name == name; });
        if (!there) out_.push_back({std::move(name), value});
    }
    [[nodiscard]] std::vector<StatusValue> result() { return std::move(out_); }

private:
    void take(std::string_view part) {
        const std::size_t colon = part.rfind(": ");
        if (colon == std::string_view::npos) {
            std::string_view rest = part;
            const auto value = number_of(rest);
            if (!value) return;
            if (!trimmed(rest).empty() && is_letter(trimmed(rest).front()))
                return add(trimmed(rest), {}, *value);  // "20 generation tokens"
            if (!list_.empty()) add(fmt::format("{} {}", list_, ++position_), trimmed(rest), *value);
            return;
        }
        const std::string_view key = trimmed(part.substr(0, colon));
        std::string_view value_text = trimmed(part.substr(colon + 2));
        if (value_text == "True" || value_text == "False") return add(key, {}, value_text == "True" ? 1 : 0);
        if (const std::size_t arrow = value_text.find("-> "); arrow != std::string_view::npos) value_text.remove_prefix(arrow + 3);
        const auto value = number_of(value_text);
        if (!value || key.empty()) return;
        if (key == "Per-position acceptance rate") {
            list_ = key;
            position_ = 1;
            return add(fmt::format("{} 1", key), {}, *value);
        }
        list_ = {};
        add(key, trimmed(value_text), *value);
    }

    std::string prefix_;
    std::vector<StatusValue> out_;
    std::string_view list_;
    int position_ = 0;
};

/// Takes "Engine 003: " off; the first engine's counters have no prefix.
std::string eat_engine(std::string_view& text) {
    TextScan scan(text);
    std::int64_t number = 0;
    if (!scan.eat("Engine ") || !scan.number(1, 6, number) || !scan.eat(": ")) return {};
    text = scan.rest();
    return number == 0 ? std::string() : fmt::format("Engine {}: ", number);
}

}  // namespace

std::vector<StatusValue> read_status(std::string_view message) {
    message = message.substr(0, message.find('\n'));
    const std::string engine = eat_engine(message);
    StatusReader reader(engine);
    TextScan scan(message);
    std::int64_t number = 0;
    if (message.starts_with("Avg prompt throughput:") || message.starts_with("Prefix cache hit rate: ")) {
        reader.read(message);
    } else if (scan.eat("Iteration(") && scan.number(1, 15, number) && scan.eat("): ")) {
        reader.add("Iteration", {}, static_cast<double>(number));
        reader.read(scan.rest());
    } else if (scan.go(0); scan.eat("SpecDecoding metrics: ")) {
        reader.read(scan.rest());
    } else if (scan.eat("Prefill batch") || scan.eat("Decode batch")) {
        if (scan.eat(" [") && scan.number(1, 15, number)) {
            reader.add("Forward iteration", {}, static_cast<double>(number));
            (void)scan.eat(']');
        }
        (void)scan.until(",.");
        scan.go(scan.at() + 1);
        reader.read(scan.rest());
    } else if (scan.eat("KV cache pool is full.") || scan.eat("Decode out of memory happened.")) {
        reader.read(scan.rest().substr(std::min(scan.rest().find('#'), scan.rest().size())));
    }
    return reader.result();
}

}  // namespace faultline::service_log
