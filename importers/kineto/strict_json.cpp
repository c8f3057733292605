#include "importers/kineto/strict_json.h"

#include <simdjson.h>

namespace faultline::kineto {

using simdjson::error_code;

struct StrictJson::State {
    simdjson::dom::parser parser;
    std::string buffer;  ///< padded copies

    simdjson::padded_string_view padded(std::string_view text) {
        buffer.assign(text);
        buffer.append(simdjson::SIMDJSON_PADDING, ' ');
        return simdjson::padded_string_view(buffer.data(), text.size(), buffer.size());
    }
};

StrictJson::StrictJson() : state_(std::make_unique<State>()) {}
StrictJson::~StrictJson() = default;

bool StrictJson::valid(std::string_view text) {
    simdjson::dom::element root;
    const auto padded = state_->padded(text);
    const error_code code = state_->parser.parse(padded.data(), padded.length(), false).get(root);
    if (code != simdjson::SUCCESS) why_ = simdjson::error_message(code);
    return code == simdjson::SUCCESS;
}

std::vector<JsonMember> StrictJson::members(std::string_view object) {
    std::vector<JsonMember> all;
    simdjson::dom::object root;
    const auto padded = state_->padded(object);
    if (state_->parser.parse(padded.data(), padded.length(), false).get(root) != simdjson::SUCCESS) return all;
    for (const auto field : root) {
        JsonMember& member = all.emplace_back();
        member.key = field.key;
        const simdjson::dom::element value = field.value;
        switch (value.type()) {
            case simdjson::dom::element_type::STRING:
                member.kind = JsonMember::Kind::text;
                member.text = std::string_view(value);
                break;
            case simdjson::dom::element_type::INT64:
            case simdjson::dom::element_type::UINT64:
            case simdjson::dom::element_type::DOUBLE: member.kind = JsonMember::Kind::number; break;
            case simdjson::dom::element_type::BOOL: member.kind = JsonMember::Kind::truth; break;
            case simdjson::dom::element_type::NULL_VALUE: member.kind = JsonMember::Kind::null; break;
            default: break;
        }
        if (member.kind != JsonMember::Kind::text) member.text = simdjson::minify(value);
    }
    return all;
}

std::vector<std::string> StrictJson::elements(std::string_view array) {
    std::vector<std::string> all;
    simdjson::dom::array root;
    const auto padded = state_->padded(array);
    if (state_->parser.parse(padded.data(), padded.length(), false).get(root) != simdjson::SUCCESS) return all;
    for (const simdjson::dom::element element : root) all.push_back(simdjson::minify(element));
    return all;
}

std::string StrictJson::unescaped(std::string_view raw) {
    std::string quoted;
    quoted.reserve(raw.size() + 2);
    quoted.append(1, '"').append(raw).append(1, '"');
    const auto padded = state_->padded(quoted);
    std::string_view text;
    if (state_->parser.parse(padded.data(), padded.length(), false).get(text) != simdjson::SUCCESS) return std::string(raw);
    return std::string(text);
}

}  // namespace faultline::kineto
