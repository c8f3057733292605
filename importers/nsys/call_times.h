// API calls by (process, correlation id), for rows that take something from their call.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/types.h"
#include "importers/nsys/places.h"

namespace faultline::nsys {

/// Starts of the calls that are asked for by (process, correlation id). Ids that nobody asks for cost nothing.
class CallTimes {
public:
    void ask(std::int64_t global_pid, std::int64_t correlation) { times_.try_emplace({process_key(global_pid), correlation}, kNull); }
    void tell(std::int64_t global_tid, std::int64_t correlation, TimeNs start) {
        if (times_.empty()) return;
        const auto found = times_.find({process_key(global_tid), correlation});
        if (found != times_.end()) found->second = start;
    }
    [[nodiscard]] bool empty() const noexcept { return times_.empty(); }
    [[nodiscard]] bool asked(std::int64_t global_pid, std::int64_t correlation) const {
        return !times_.empty() && times_.contains({process_key(global_pid), correlation});
    }
    [[nodiscard]] TimeNs start(std::int64_t global_pid, std::int64_t correlation) const {  ///< kNull where it is not known
        const auto found = times_.find({process_key(global_pid), correlation});
        return found == times_.end() ? kNull : found->second;
    }

private:
    struct Key {
        std::int64_t process, correlation;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& k) const noexcept {
            constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
            return static_cast<std::size_t>((static_cast<std::uint64_t>(k.process) * kMix) ^ static_cast<std::uint64_t>(k.correlation));
        }
    };
    std::unordered_map<Key, TimeNs, Hash> times_;
};

}  // namespace faultline::nsys
