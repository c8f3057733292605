#include "importers/nsys/json_text.h"

#include <fmt/format.h>

namespace faultline::nsys {

std::string quoted_json(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (c == '\n')
            out += "\\n";
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out + '"';
}

void JsonObject::add(std::string_view key, std::string_view json) {
    if (!keys_.emplace(key).second) return;
    if (!empty()) text_ += ',';
    text_ += quoted_json(key);
    text_ += ':';
    text_ += json;
}

}  // namespace faultline::nsys
