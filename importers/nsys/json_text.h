// JSON texts put together member by member: strings are quoted and escaped, everything else is given as it shall stand.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace faultline::nsys {

[[nodiscard]] std::string quoted_json(std::string_view text);  ///< text is UTF-8

/// Members in the order in which they are added; a key that comes again is left out.
class JsonObject {
public:
    void add(std::string_view key, std::string_view json);
    void add_text(std::string_view key, std::string_view text) { add(key, quoted_json(text)); }
    [[nodiscard]] bool empty() const noexcept { return text_.size() == 1; }
    [[nodiscard]] std::string text() const { return text_ + '}'; }

private:
    std::string text_ = "{";
    std::unordered_set<std::string> keys_;
};

}  // namespace faultline::nsys
