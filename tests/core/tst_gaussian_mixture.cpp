// Mixtures that are known come back, BIC picks their number, and data without any spread do no harm.
#include <QTest>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/gaussian_mixture.h"

using namespace faultline;

namespace {

/// Normal numbers that are the same everywhere.
class Normal {
public:
    double next() {
        const double u = uniform(), v = uniform();
        return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    }

private:
    double uniform() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (static_cast<double>(state_ >> 11) + 0.5) * 0x1.0p-53;
    }
    std::uint64_t state_ = 42;
};

/// `n` points in the plane around each centre, with correlated coordinates.
std::vector<double> clusters(std::initializer_list<std::pair<double, double>> centres, int n) {
    Normal normal;
    std::vector<double> rows;
    for (const auto& [x, y] : centres) {
        for (int i = 0; i < n; ++i) {
            const double a = normal.next(), b = normal.next();
            rows.push_back(x + a);
            rows.push_back(y + 0.8 * a + 0.6 * b);
        }
    }
    return rows;
}

}  // namespace

class TestGaussianMixture : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void known_mixture_is_recovered_data() {
        QTest::addColumn<bool>("full");
        QTest::newRow("full") << true;
        QTest::newRow("diagonal") << false;
    }
    void known_mixture_is_recovered() {
        QFETCH(bool, full);
        const auto mixture =
            GaussianMixture::fit(clusters({{0, 0}, {20, 0}, {0, 30}}, 300), 2, {.most_components = 3, .full_covariance = full});
        QVERIFY(mixture.has_value());
        QCOMPARE(mixture->components(), std::size_t{3});
        for (const auto& [x, y] : {std::pair{0.0, 0.0}, {20.0, 0.0}, {0.0, 30.0}}) {
            bool found = false;
            for (std::size_t k = 0; k < 3; ++k) {
                if (std::abs(mixture->mean(k)[0] - x) > 0.3 || std::abs(mixture->mean(k)[1] - y) > 0.3) continue;
                found = true;
                QVERIFY(std::abs(mixture->weight(k) - 1.0 / 3) < 0.01);
                QVERIFY(std::abs(mixture->variance(k, 0) - 1) < 0.2);
                QVERIFY(std::abs(mixture->variance(k, 1) - 1) < 0.2);
            }
            QVERIFY(found);
        }
    }

    void bic_picks_the_number_of_components() {
        QCOMPARE(GaussianMixture::fit(clusters({{0, 0}}, 400), 2)->components(), std::size_t{1});
        QCOMPARE(GaussianMixture::fit(clusters({{0, 0}, {12, 3}}, 400), 2)->components(), std::size_t{2});
        QCOMPARE(GaussianMixture::fit(clusters({{0, 0}, {12, 3}, {-9, 9}, {4, -20}}, 200), 2)->components(), std::size_t{4});
    }

    void full_covariance_describes_correlated_data_better() {
        const std::vector<double> rows = clusters({{0, 0}}, 500);
        const auto full = GaussianMixture::fit(rows, 2, {.most_components = 1});
        const auto diagonal = GaussianMixture::fit(rows, 2, {.most_components = 1, .full_covariance = false});
        QVERIFY(full->bic() < diagonal->bic());
        const std::vector<double> against{2, -2};  // against the correlation, though near in each coordinate
        QVERIFY(full->log_density(against) < diagonal->log_density(against));
    }

    void density_is_that_of_the_formula() {
        // One dimension, variance 1 + ridge around mean 0: values -1 and 1.
        const std::vector<double> rows{-1, 1, -1, 1};
        const auto mixture = GaussianMixture::fit(rows, 1, {.most_components = 1, .ridge = 0});
        const double expected = -0.5 * std::log(2 * std::numbers::pi) - 0.5 * 4;
        const std::vector<double> two{2};
        QVERIFY(std::abs(mixture->log_density(two) - expected) < 1e-9);
    }

    void responsibilities_add_up() {
        const auto mixture = GaussianMixture::fit(clusters({{0, 0}, {12, 3}}, 400), 2);
        for (const std::vector<double>& x : {std::vector<double>{0, 0}, {6, 1}, {100, -100}}) {
            double sum = 0;
            for (const double p : mixture->responsibilities(x)) sum += p;
            QVERIFY(std::abs(sum - 1) < 1e-9);
        }
        const std::vector<double> first{0, 0};
        const auto posterior = mixture->responsibilities(first);
        QVERIFY(std::max(posterior[0], posterior[1]) > 0.999);
    }

    void central_components_hold_the_share() {
        std::vector<double> rows = clusters({{0, 0}}, 450);
        const std::vector<double> few = clusters({{50, 50}}, 50);
        rows.insert(rows.end(), few.begin(), few.end());
        const auto mixture = GaussianMixture::fit(rows, 2, {.most_components = 2});
        QCOMPARE(mixture->components(), std::size_t{2});
        const std::size_t heavy = mixture->weight(0) > mixture->weight(1) ? 0 : 1;
        QCOMPARE(mixture->central_components(0.8)[heavy], true);
        QCOMPARE(mixture->central_components(0.8)[1 - heavy], false);
        QCOMPARE(mixture->central_components(0.95)[1 - heavy], true);
    }

    void same_data_same_mixture() {
        const std::vector<double> rows = clusters({{0, 0}, {12, 3}}, 100);
        const auto a = GaussianMixture::fit(rows, 2), b = GaussianMixture::fit(rows, 2);
        QCOMPARE(a->bic(), b->bic());
        QCOMPARE(a->mean(0)[0], b->mean(0)[0]);
    }

    void degenerate_data_are_safe() {
        QVERIFY(!GaussianMixture::fit({}, 2));
        const std::vector<double> three{1, 2, 3};
        QVERIFY(!GaussianMixture::fit(three, 0));
        QVERIFY(!GaussianMixture::fit(three, 2));
        const std::vector<double> broken{1, std::numeric_limits<double>::quiet_NaN()};
        QVERIFY(!GaussianMixture::fit(broken, 1));
        const std::vector<double> one{4, 5};
        QCOMPARE(GaussianMixture::fit(one, 2)->components(), std::size_t{1});
        const std::vector<double> equal(200, 7.0);  // 100 equal rows
        const auto mixture = GaussianMixture::fit(equal, 2);
        QCOMPARE(mixture->components(), std::size_t{1});
        const std::vector<double> same{7, 7}, other{8, 7};
        QVERIFY(std::isfinite(mixture->log_density(same)));
        QVERIFY(mixture->log_density(same) > mixture->log_density(other) + 100);
        std::vector<double> dependent;  // the second coordinate follows from the first
        for (int i = 0; i < 100; ++i) dependent.insert(dependent.end(), {static_cast<double>(i), 2.0 * i});
        QVERIFY(std::isfinite(GaussianMixture::fit(dependent, 2)->log_density(same)));
    }
};

QTEST_APPLESS_MAIN(TestGaussianMixture)
#include "tst_gaussian_mixture.moc"
