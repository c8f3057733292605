// The names of one run, interned: a kernel name repeats a million times, so events carry a number. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace faultline::simulator {

/// 0 is no name.
enum class Name : std::uint32_t { none = 0 };

class Names {
public:
    Names();
    [[nodiscard]] Name intern(std::string_view text);
    [[nodiscard]] std::string_view text(Name name) const { return texts_[static_cast<std::uint32_t>(name)]; }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

private:
    std::deque<std::string> texts_;
    std::unordered_map<std::string_view, Name> ids_;
};

}  // namespace faultline::simulator
