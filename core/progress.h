// How a long operation reports and is stopped. Calls come from the thread that works; the callback must be thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

namespace faultline {

enum class ImportPhase : std::uint8_t { reading, sorting, binding, steps, writing, analysis };

struct ProgressReport {
    ImportPhase phase = ImportPhase::reading;
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;  ///< 0 where it is not known (standard input)
    std::uint64_t events = 0;
};

/// A stop token and a sink. A default Progress reports nowhere and is never stopped.
struct Progress {
    std::stop_token stop;
    std::function<void(const ProgressReport&)> report;

    [[nodiscard]] bool stopped() const noexcept { return stop.stop_requested(); }
    void operator()(const ProgressReport& r) const {
        if (report) report(r);
    }
};

}  // namespace faultline
