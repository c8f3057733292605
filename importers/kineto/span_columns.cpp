#include "importers/kineto/span_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace faultline::kineto {

namespace {

struct ElementType {
    std::string_view name;  ///< lower case, without c10:: and without what follows an underscore (Float8_e4m3fn)
    std::int64_t bytes;
};

constexpr ElementType kElementTypes[] = {
    {"float", 4},  {"double", 8},  {"half", 2},        {"bfloat16", 2}, {"float8", 1},        {"int", 4},           {"long", 8},
    {"short", 2},  {"char", 1},    {"signed char", 1}, {"byte", 1},     {"unsigned char", 1}, {"bool", 1},          {"long int", 8},
    {"int8", 1},   {"uint8", 1},   {"int16", 2},       {"uint16", 2},   {"int32", 4},         {"uint32", 4},        {"int64", 8},
    {"uint64", 8}, {"float16", 2}, {"float32", 4},     {"float64", 8},  {"complexfloat", 8},  {"complexdouble", 16}};

/// Larger of what goes in and what comes out, in bytes; kNull where the event does not say.
std::int64_t message_bytes(const KinetoEvent& e) noexcept {
    const std::int64_t elements = std::max(e.in_elements, e.out_elements);
    const std::int64_t each = element_bytes(e.element_type);
    std::int64_t bytes = 0;
    if (elements < 0 || each == 0 || __builtin_mul_overflow(elements, each, &bytes)) return kNull;
    return bytes;
}

}  // namespace

std::int64_t element_bytes(std::string_view type) noexcept {
    constexpr std::string_view kPrefix = "c10::";
    if (type.starts_with(kPrefix)) type.remove_prefix(kPrefix.size());
    type = type.substr(0, type.find('_'));
    const auto same = [&](const ElementType& t) {
        return std::equal(t.name.begin(), t.name.end(), type.begin(), type.end(),
                          [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b | 0x20 : b); });
    };
    const auto* const found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes), same);
    return found == std::end(kElementTypes) ? 0 : found->bytes;
}

void SpanColumns::set(TrackBuffer& track, std::uint32_t at, const KinetoEvent& event, TextId rest) {
    for (std::size_t i = 0; i < event.value_count; ++i) track.set(at, event.values[i].column, event.values[i].value);
    if (event.correlation != kNull) track.set(at, Column::correlation, event.correlation);
    if (event.in_elements != kNull || event.out_elements != kNull)
        if (const std::int64_t bytes = message_bytes(event); bytes != kNull) track.set(at, Column::comm_bytes, bytes);
    if (rest != TextId{}) track.set(at, Column::args, index_of(rest));
}

std::optional<TextId> SpanColumns::rest(const KinetoEvent& event, bool on_device) {
    const bool said = on_device || (event.device == kNull && event.stream == kNull);
    if (event.rest_count == 0 && said) return TextId{};
    text_.assign(1, '{');
    const auto add = [&](std::string_view piece) {
        if (text_.size() > 1) text_.push_back(',');
        text_.append(piece);
    };
    for (std::size_t i = 0; i < event.rest_count; ++i) add(event.rest[i]);
    if (!on_device && event.device != kNull) add(fmt::format("\"device\":{}", event.device));
    if (!on_device && event.stream != kNull) add(fmt::format("\"stream\":{}", event.stream));
    text_.push_back('}');
    const TextId id = source_.text(text_);
    // A text that was met before was judged then.
    if (index_of(id) > newest_text_) {
        newest_text_ = index_of(id);
        if (!json_.valid(text_)) bad_.insert(index_of(id));
    }
    if (!bad_.empty() && bad_.contains(index_of(id))) return std::nullopt;
    return id;
}

}  // namespace faultline::kineto
