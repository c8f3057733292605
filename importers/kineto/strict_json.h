// Small pieces of JSON, read whole and checked whole. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace faultline::kineto {

/// A member of a small object, unescaped.
struct JsonMember {
    enum class Kind { text, number, truth, null, other };
    std::string key;
    Kind kind = Kind::other;
    std::string text;  ///< of a string; the raw JSON of anything else
};

class StrictJson {
public:
    StrictJson();
    ~StrictJson();
    StrictJson(const StrictJson&) = delete;
    StrictJson& operator=(const StrictJson&) = delete;

    /// Whether the text is one JSON value; why() says the reason where it is none.
    [[nodiscard]] bool valid(std::string_view text);
    [[nodiscard]] const std::string& why() const noexcept { return why_; }
    /// The members of an object, or nothing where it is none.
    [[nodiscard]] std::vector<JsonMember> members(std::string_view object);
    /// The elements of an array as JSON texts, or nothing where it is none.
    [[nodiscard]] std::vector<std::string> elements(std::string_view array);
    /// Text of the raw bytes between the quotes of a JSON string. What no JSON escape explains stays as it is.
    [[nodiscard]] std::string unescaped(std::string_view raw);

private:
    struct State;
    std::unique_ptr<State> state_;
    std::string why_;
};

}  // namespace faultline::kineto
