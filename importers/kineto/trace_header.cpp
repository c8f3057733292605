#include "importers/kineto/trace_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/simulated.h"
#include "importers/kineto/number_text.h"

namespace faultline::kineto {

namespace {

constexpr std::size_t kMostMetadataBytes = 64 * 1024;  // of one member

constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::optional<RankInName> number_after(std::string_view name, std::string_view word) {
    for (std::size_t at = 0; at + word.size() < name.size(); ++at) {
        if (name.substr(at, word.size()) != word || (at > 0 && is_letter(name[at - 1]))) continue;
        std::size_t from = at + word.size();
        if (name[from] == '_' || name[from] == '-') ++from;
        std::size_t end = from;
        while (end < name.size() && is_digit(name[end])) ++end;
        constexpr std::size_t kMostDigits = 6;
        if (end == from || end - from > kMostDigits) continue;
        return RankInName{whole_number(name.substr(from, end - from)).value_or(0), std::string(name.substr(at, end - at))};
    }
    return std::nullopt;
}

/// Members that are data of their own, which this version does not show.
bool is_data(std::string_view key) noexcept { return key == "stackFrames" || key == "samples" || key == "systemTraceEvents"; }

}  // namespace

std::optional<RankInName> rank_in_name(std::string_view file_name) {
    // "tp4" in small letters is a degree of parallelism, not a rank.
    for (const std::string_view word : {"rank", "RANK", "Rank", "TP"})
        if (auto found = number_after(file_name, word)) return found;
    return std::nullopt;
}

void TraceHeader::take(std::string_view key, std::string_view value, std::uint64_t offset) {
    const std::string place = fmt::format("byte {}", offset);
    if (key == "schemaVersion" || key == "deviceProperties" || key == "traceName") from_kineto_ = true;
    if (is_data(key)) {
        ledger_.note("kineto.unused-member", "A list beside the events is not shown", fmt::format("{} at {}", key, place));
        return;
    }
    if (value.empty() || value.size() > kMostMetadataBytes) {
        // Devices are worth reading at any length that was kept.
        if (key == "deviceProperties" && !value.empty()) return take_devices(value);
        ledger_.note("kineto.long-member", "A member of the header is too long to keep with the source",
                     fmt::format("{} at {}", key, place));
        return;
    }
    if (key == "baseTimeNanoseconds") {
        base_ns_ = whole_number(unquoted(value));
        if (!base_ns_)
            ledger_.note("kineto.bad-base", "The wall clock of the trace cannot be read, so its times stand for themselves", place);
        return;
    }
    if (key == "deviceProperties") return take_devices(value);
    if (key == "host_name") source_.source.host = json_.unescaped(unquoted(value));
    if (key == "distributedInfo") take_distributed(value);
    if (key == kSimulatedKey && unquoted(value) == "1") source_.health.push_back(simulated_finding());
    if (!json_.valid(value)) {
        ledger_.note("kineto.bad-member", "A member of the header is no valid JSON and was left out", fmt::format("{} at {}", key, place));
        return;
    }
    metadata_[std::string(key)] = value;
}

void TraceHeader::take_devices(std::string_view value) {
    std::int64_t position = 0;
    for (const std::string& device : json_.elements(value)) {
        std::int64_t ordinal = position++;
        std::string name;
        for (const JsonMember& member : json_.members(device)) {
            if (member.key == "id") ordinal = whole_number(member.text).value_or(ordinal);
            if (member.key == "name") name = member.text;
        }
        Device& row = source_.device_row(source_.device(ordinal));
        row.name = std::move(name);
        row.properties = device;
    }
}

void TraceHeader::take_distributed(std::string_view value) {
    for (const JsonMember& member : json_.members(value)) {
        const std::optional<std::int64_t> number = whole_number(member.text);
        if (member.key == "rank" && number) {
            source_.source.rank = number;
            source_.source.rank_rule = "distributedInfo.rank of the trace";
        }
        if (member.key == "world_size" && number) source_.source.world_size = number;
    }
}

void TraceHeader::finish(std::string_view file_name, std::optional<TimeNs> latest) {
    std::string json(1, '{');
    for (const auto& [key, value] : metadata_) {
        if (json.size() > 1) json.append(", ");
        json.append(fmt::format("\"{}\": {}", key, value));
    }
    json.push_back('}');
    source_.source.metadata = json_.valid(json) ? std::move(json) : "{}";
    if (!source_.source.rank) {
        if (const std::optional<RankInName> found = rank_in_name(file_name)) {
            source_.source.rank = found->rank;
            source_.source.rank_rule = fmt::format("the file's name ({})", found->where);
        }
    }
    // Without a base, times of 10^14 us and more (after 1973) count from the epoch; smaller ones from some start.
    constexpr TimeNs kLeastEpochNs = 100'000'000'000'000'000;
    source_.clock_base_ns = base_ns_.value_or(0);
    source_.has_wall_clock = base_ns_.has_value() || (latest && *latest >= kLeastEpochNs);
}

}  // namespace faultline::kineto
