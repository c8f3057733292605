// Damaging a good trace in one place, in the ways that files are found damaged. Deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace faultline::test {

struct Corruption {
    std::string name;
    bool loses_bytes = false;  ///< events inside what is gone are lost too
    std::string text;
    std::size_t at = 0;    ///< where it was damaged
    std::size_t gone = 0;  ///< bytes that were taken away or overwritten
};

/// Each kind of damage once, at a place chosen by `seed` inside an event.
[[nodiscard]] std::vector<Corruption> corrupt(const std::string& good, std::uint32_t seed);

/// A Kineto trace of `events` events, indented as Kineto writes it or compact as Python does.
[[nodiscard]] std::string sample_trace(int events, bool indented);

}  // namespace faultline::test
