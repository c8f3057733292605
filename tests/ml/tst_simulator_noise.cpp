// Keyed draws: their distributions against theory, and that keys do not know of each other.
#include <QTest>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "ml/simulator/base/noise.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

constexpr int kDraws = 200'000;

std::vector<double> draws(const std::function<double(std::uint64_t)>& one, int count = kDraws) {
    std::vector<double> found;
    for (int i = 0; i < count; ++i) found.push_back(one(static_cast<std::uint64_t>(i)));
    return found;
}
double mean(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size()); }
double deviation(const std::vector<double>& v) {
    const double m = mean(v);
    double sum = 0;
    for (const double x : v) sum += (x - m) * (x - m);
    return std::sqrt(sum / static_cast<double>(v.size()));
}
double quantile(std::vector<double> v, double q) {
    std::sort(v.begin(), v.end());
    return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
}
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const double ma = mean(a), mb = mean(b);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - ma) * (b[i] - mb);
    return sum / static_cast<double>(a.size()) / deviation(a) / deviation(b);
}
bool near(double value, double wanted, double tolerance) {
    if (std::abs(value - wanted) <= tolerance) return true;
    qWarning("%g is not within %g of %g", value, tolerance, wanted);
    return false;
}

}  // namespace

class TestNoise : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_bit_is_fair_whichever_coordinate_counts() {
        const Noise noise(7);
        for (int coordinate = 0; coordinate < 4; ++coordinate) {
            std::vector<int> ones(64), bytes(256);
            constexpr int kCount = 65'536;
            for (std::uint64_t i = 0; i < kCount; ++i) {
                const std::uint64_t h =
                    coordinate == 3 ? Noise(i).bits(Draw::other)
                                    : noise.bits(Draw::other, coordinate == 0 ? i : 0, coordinate == 1 ? i : 0, coordinate == 2 ? i : 0);
                for (std::size_t b = 0; b < 64; ++b) ones[b] += static_cast<int>(h >> b & 1);
                ++bytes[h & 0xFF];
            }
            // 64 bits with deviation 128: four and a half of those.
            for (const int count : ones) QVERIFY2(std::abs(count - kCount / 2) < 580, qPrintable(QString::number(count)));
            double chi = 0;
            for (const int count : bytes) chi += (count - 256.0) * (count - 256.0) / 256.0;
            QVERIFY2(chi > 160 && chi < 370, qPrintable(QString::number(chi)));  // 255 degrees of freedom: 255 ± 22.6
        }
    }

    void one_changed_bit_of_a_key_changes_half_of_the_draw() {
        const Noise noise(11);
        double flipped = 0;
        int count = 0;
        for (std::uint64_t i = 0; i < 500; ++i) {
            for (int b = 0; b < 24; ++b) {
                const std::uint64_t one = std::uint64_t{1} << b;
                flipped += __builtin_popcountll(noise.bits(Draw::other, i, 5, 9) ^ noise.bits(Draw::other, i ^ one, 5, 9));
                flipped += __builtin_popcountll(noise.bits(Draw::other, 5, i, 9) ^ noise.bits(Draw::other, 5, i ^ one, 9));
                flipped += __builtin_popcountll(noise.bits(Draw::other, 5, 9, i) ^ noise.bits(Draw::other, 5, 9, i ^ one));
                count += 3;
            }
        }
        QVERIFY(near(flipped / count, 32, 0.15));
    }

    void draws_of_other_keys_are_independent() {
        const Noise noise(3), other(4);
        const auto base = draws([&](std::uint64_t i) { return noise.uniform(Draw::host_jitter, 1, 2, i); });
        const std::vector<std::function<double(std::uint64_t)>> neighbours{
            [&](std::uint64_t i) { return noise.uniform(Draw::host_jitter, 1, 2, i + 1); },
            [&](std::uint64_t i) { return noise.uniform(Draw::host_jitter, 1, 3, i); },
            [&](std::uint64_t i) { return noise.uniform(Draw::host_jitter, 2, 2, i); },
            [&](std::uint64_t i) { return noise.uniform(Draw::host_jitter, 1, i, 2); },
            [&](std::uint64_t i) { return noise.uniform(Draw::device_jitter, 1, 2, i); },
            [&](std::uint64_t i) { return other.uniform(Draw::host_jitter, 1, 2, i); }};
        for (const auto& neighbour : neighbours) QVERIFY(near(correlation(base, draws(neighbour)), 0, 0.01));
    }

    void a_draw_depends_on_its_key_alone() {
        const Noise one(9);
        const double first = one.normal(Draw::accept, 4, 5, 6);
        for (std::uint64_t i = 0; i < 100; ++i) (void)one.normal(Draw::accept, i);
        QCOMPARE(one.normal(Draw::accept, 4, 5, 6), first);
        QCOMPARE(Noise(9).normal(Draw::accept, 4, 5, 6), first);
    }

    void uniform_below_and_chance() {
        const Noise noise(1);
        const auto u = draws([&](std::uint64_t i) { return noise.uniform(Draw::other, i); });
        QVERIFY(near(mean(u), 0.5, 0.003));
        QVERIFY(near(deviation(u), std::sqrt(1.0 / 12), 0.003));
        QVERIFY(*std::max_element(u.begin(), u.end()) < 1);
        QVERIFY(*std::min_element(u.begin(), u.end()) >= 0);
        QCOMPARE(noise.below(0, Draw::other), std::uint64_t{0});
        QVERIFY(near(mean(draws([&](std::uint64_t i) { return static_cast<double>(noise.below(10, Draw::other, i)); })), 4.5, 0.03));
        QVERIFY(near(mean(draws([&](std::uint64_t i) { return noise.chance(0.03, Draw::other, i) ? 1.0 : 0.0; })), 0.03, 0.002));
        QVERIFY(!noise.chance(0, Draw::other));
        QVERIFY(noise.chance(1, Draw::other));
    }

    void normal() {
        const Noise noise(2);
        const auto n = draws([&](std::uint64_t i) { return noise.normal(Draw::other, i); });
        QVERIFY(near(mean(n), 0, 0.01));
        QVERIFY(near(deviation(n), 1, 0.01));
        QVERIFY(near(quantile(n, 0.8413), 1, 0.015));
        QVERIFY(near(quantile(n, 0.0228), -2, 0.03));
        QVERIFY(near(quantile(n, 0.999), 3.09, 0.1));
        QVERIFY(*std::max_element(n.begin(), n.end()) <= 4);
    }

    void exponential() {
        const Noise noise(2);
        const auto e = draws([&](std::uint64_t i) { return noise.exponential(Draw::other, i); });
        QVERIFY(near(mean(e), 1, 0.01));
        QVERIFY(near(quantile(e, 0.5), std::log(2.0), 0.01));
        QVERIFY(near(quantile(e, 0.99), std::log(100.0), 0.08));
        QVERIFY(*std::min_element(e.begin(), e.end()) >= 0);
        QVERIFY(*std::max_element(e.begin(), e.end()) <= 16);
    }

    void logarithmic_ones() {
        const Noise noise(5);
        auto u = draws([&](std::uint64_t i) { return noise.log_uniform(0.01, 100, Draw::other, i); });
        QVERIFY(near(std::log10(quantile(u, 0.5)), 0, 0.03));
        QVERIFY(near(std::log10(quantile(u, 0.25)), -1, 0.03));
        QVERIFY(*std::min_element(u.begin(), u.end()) >= 0.01 * (1 - 1e-9));
        QVERIFY(*std::max_element(u.begin(), u.end()) <= 100 * (1 + 1e-9));
        QCOMPARE(noise.log_uniform(3, 3, Draw::other), 3.0);
        const auto n = draws([&](std::uint64_t i) { return noise.log_normal(400, 0.5, Draw::other, i); });
        QVERIFY(near(quantile(n, 0.5), 400, 4));
        QVERIFY(near(quantile(n, 0.8413) / 400, std::exp(0.5), 0.02));
        QVERIFY(near(mean(n) / 400, std::exp(0.125), 0.02));
    }

    void tables_rise() {
        const Noise noise(6);
        std::vector<std::uint64_t> keys(20'000);
        std::iota(keys.begin(), keys.end(), 0U);
        std::sort(keys.begin(), keys.end(),
                  [&](std::uint64_t a, std::uint64_t b) { return noise.uniform(Draw::other, a) < noise.uniform(Draw::other, b); });
        for (std::size_t i = 1; i < keys.size(); ++i) {
            QVERIFY(noise.normal(Draw::other, keys[i - 1]) <= noise.normal(Draw::other, keys[i]));
            QVERIFY(noise.exponential(Draw::other, keys[i - 1]) <= noise.exponential(Draw::other, keys[i]));
            QVERIFY(noise.log_uniform(1, 9, Draw::other, keys[i - 1]) <= noise.log_uniform(1, 9, Draw::other, keys[i]));
        }
    }

    void jitter_has_a_body_and_a_tail() {
        const Noise noise(8);
        const auto j =
            draws([&](std::uint64_t i) { return static_cast<double>(noise.jitter(100'000, 0.06, Draw::host_jitter, 1, 2, i)) / 100'000; });
        QVERIFY(near(quantile(j, 0.5), 1, 0.003));
        QVERIFY(near(quantile(j, 0.8413), 1.06, 0.004));
        const auto tail = std::count_if(j.begin(), j.end(), [](double x) { return x > 1.3; });
        QVERIFY(near(static_cast<double>(tail) / kDraws, 0.85 / 512, 0.0006));
        QVERIFY(*std::max_element(j.begin(), j.end()) > 2);
        QVERIFY(*std::max_element(j.begin(), j.end()) < 3.4);
        const auto wide =
            draws([&](std::uint64_t i) { return static_cast<double>(noise.jitter(1'000'000, 0.5, Draw::host_jitter, 1, 2, i)) / 1e6; });
        QVERIFY(*std::min_element(wide.begin(), wide.end()) >= 0.7 - 1e-6);
        QCOMPARE(noise.jitter(0, 0.06, Draw::host_jitter), TimeNs{0});
        QCOMPARE(noise.jitter(-5, 0.06, Draw::host_jitter), TimeNs{-5});
    }

    void the_same_bytes_everywhere() {
        // Pinned: a change here changes every run of every seed.
        const Noise noise(42);
        QCOMPARE(noise.bits(Draw::host_jitter, 1, 2, 3), std::uint64_t{3953694843787775149ULL});
        QCOMPARE(noise.jitter(1'000'000'000'000, 0.06, Draw::host_jitter, 1, 2, 3), TimeNs{952533004467});
    }
};

QTEST_GUILESS_MAIN(TestNoise)
#include "tst_simulator_noise.moc"
