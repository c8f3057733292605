#include "ml/simulator/base/noise.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace faultline::simulator {
namespace {

constexpr std::uint64_t mix(std::uint64_t x) noexcept {  // splitmix64's finalizer
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

constexpr double kLn2 = 0.693147180559945309417;

/// Natural logarithm of x in (0, 1], by the series of artanh; constant evaluation only uses + - * /.
constexpr double ln(double x) {
    int powers = 0;
    while (x < 0.70710678118654752) {
        x *= 2;
        --powers;
    }
    const double y = (x - 1) / (x + 1);
    double term = y, sum = 0;
    for (int n = 1; n < 40; n += 2) {
        sum += term / n;
        term *= y * y;
    }
    return 2 * sum + powers * kLn2;
}

constexpr double exponential_of(double x) {  // e^x for |x| <= 16
    double sum = 1, term = 1;
    const double small = x / 64;
    for (int n = 1; n < 20; ++n) {
        term *= small / n;
        sum += term;
    }
    for (int n = 0; n < 6; ++n) sum *= sum;
    return sum;
}

constexpr int kTable = 1024;

/// -ln(1 - i / kTable), the last one cut.
constexpr std::array<double, kTable + 1> exponential_table() {
    std::array<double, kTable + 1> table{};
    for (int i = 0; i < kTable; ++i) table[static_cast<std::size_t>(i)] = -ln(1 - static_cast<double>(i) / kTable);
    table[kTable] = table[kTable - 1] + 2;
    return table;
}

/// Quantiles of the normal distribution at i / kTable, by bisection of its integral.
constexpr std::array<double, kTable + 1> normal_table() {
    std::array<double, kTable + 1> table{};
    constexpr int kSteps = 8192;
    constexpr double kWidth = 8.0 / kSteps;
    double x = -4, mass = 0;
    std::array<double, kSteps + 1> sums{};
    for (int i = 0; i < kSteps; ++i) {
        const double at = x + kWidth / 2;
        mass += exponential_of(-at * at / 2) * kWidth;
        x += kWidth;
        sums[static_cast<std::size_t>(i) + 1] = mass;
    }
    int step = 0;
    for (int i = 0; i <= kTable; ++i) {
        const double wanted = mass * i / kTable;
        while (step < kSteps && sums[static_cast<std::size_t>(step) + 1] < wanted) ++step;
        table[static_cast<std::size_t>(i)] = -4 + kWidth * (step + 1);
    }
    table[0] = -4;
    table[kTable] = 4;
    return table;
}

double in_table(const std::array<double, kTable + 1>& table, double u) noexcept {
    const double place = u * kTable;
    const auto i = std::min<std::size_t>(static_cast<std::size_t>(place), kTable - 1);
    return table[i] + (table[i + 1] - table[i]) * (place - static_cast<double>(i));
}

constexpr std::array<double, kTable + 1> kExponentials = exponential_table();
constexpr std::array<double, kTable + 1> kNormals = normal_table();

}  // namespace

std::uint64_t Noise::bits(Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    std::uint64_t h = mix(seed_ + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(what) + 1));
    h = mix(h + 0x9e3779b97f4a7c15ULL * (a + 1));
    h = mix(h ^ (0xd1342543de82ef95ULL * (b + 1)));
    return mix(h + 0xaf251af3b0f025b5ULL * (c + 1));
}

std::uint64_t Noise::below(std::uint64_t n, Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    return n == 0 ? 0 : bits(what, a, b, c) % n;
}

double Noise::uniform(Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    return static_cast<double>(bits(what, a, b, c) >> 11) * 0x1p-53;
}

bool Noise::chance(double p, Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept { return uniform(what, a, b, c) < p; }

double Noise::normal(Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    return in_table(kNormals, uniform(what, a, b, c));
}

double Noise::exponential(Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    return std::min(in_table(kExponentials, uniform(what, a, b, c)), 16.0);
}

double Noise::log_uniform(double lo, double hi, Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    // ln(hi / lo) by halving, so that ln() sees (0, 1].
    return hi <= lo ? lo : lo * exponential_of(-ln(lo / hi) * uniform(what, a, b, c));
}

double Noise::log_normal(double median, double spread, Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    return median * exponential_of(spread * normal(what, a, b, c));
}

TimeNs Noise::jitter(TimeNs base, double spread, Draw what, std::uint64_t a, std::uint64_t b, std::uint64_t c) const noexcept {
    if (base <= 0) return base;
    const std::uint64_t h = bits(what, a, b, c);
    double factor = 1 + spread * in_table(kNormals, static_cast<double>(h >> 11) * 0x1p-53);
    // The low bits are independent of the upper 53: one draw in 512 falls into the tail.
    if ((h & 0x1FF) == 0) factor += 2 * static_cast<double>(mix(h) >> 11) * 0x1p-53;
    return static_cast<TimeNs>(static_cast<double>(base) * std::max(factor, 0.7));
}

}  // namespace faultline::simulator
