// Randomness by key: every draw is a hash of the seed, of what it is for and of its coordinates, so that no draw depends on how many were
// made before it. Taking a fault out of a run, or adding an operation to one step, changes no other number.
//
// Byte for byte the same on every machine: integers, and doubles through + - * / only; logarithms and the normal distribution come from
// tables that are computed at compile time. Values; any thread.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace faultline::simulator {

/// What a draw is for. Numbers may change between versions; seeds promise nothing across versions.
enum class Draw : std::uint32_t {
    arrival, prompt_length, output_length, prefix, sampling, abort, request_id,
    accept, expert_spread, placement, host_jitter, device_jitter, launch_jitter, network_jitter,
    clock, process_ids, start_time, log_detail, stack_sample, counter, fault_window, fault_size, fault_choice, campaign, other,
};

class Noise {
public:
    explicit constexpr Noise(std::uint64_t seed) : seed_(seed) {}

    [[nodiscard]] std::uint64_t bits(Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// In [0, n); 0 for n = 0.
    [[nodiscard]] std::uint64_t below(std::uint64_t n, Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// In [0, 1).
    [[nodiscard]] double uniform(Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    [[nodiscard]] bool chance(double p, Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// Mean 0, deviation 1, cut at ±4.
    [[nodiscard]] double normal(Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// Mean 1, cut at 16.
    [[nodiscard]] double exponential(Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// Between lo and hi (both > 0), uniform in the logarithm.
    [[nodiscard]] double log_uniform(double lo, double hi, Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// Around `median`, with `spread` as the deviation of the logarithm (0.5: P84 is 1.65 times the median).
    [[nodiscard]] double log_normal(double median, double spread, Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;
    /// A duration with the jitter of real machines: median 1 × `base`, a body of `spread` (relative), and a heavy tail in which one draw in
    /// about 500 is up to 3 times as long. Never below 0.7 × base.
    [[nodiscard]] TimeNs jitter(TimeNs base, double spread, Draw what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const noexcept;

private:
    std::uint64_t seed_;
};

}  // namespace faultline::simulator
