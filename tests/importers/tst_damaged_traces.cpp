// One damaged place must cost at most one event, except where bytes are gone. Prints what each damage cost.
#include <QTest>
#include <algorithm>

#include "../support/corrupt_json.h"
#include "../support/imported_trace.h"

using namespace faultline;
using namespace faultline::test;

namespace {

std::uint64_t records(const ImportedTrace& t) { return t.ledger.totals().read + t.ledger.totals().metadata; }

/// Events whose text touches the bytes that are gone: each has one "ph".
std::uint64_t touched(const std::string& good, const Corruption& c) {
    if (!c.loses_bytes) return 1;
    std::size_t from = good.rfind("\"ph\"", c.at);
    if (from == std::string::npos) from = c.at;
    std::uint64_t n = 1;  // the event that ends after the hole may begin inside it
    for (std::size_t at = good.find("\"ph\"", from); at != std::string::npos && at < c.at + c.gone; at = good.find("\"ph\"", at + 1)) ++n;
    return n;
}

}  // namespace

class TestDamagedTraces : public QObject {
    Q_OBJECT

private:
    static QByteArray captured(const char* name) {
        const std::string folder = shared_captures();
        return folder.empty() ? QByteArray() : QByteArray::fromStdString(read_inflated(folder + "/" + name));
    }

private Q_SLOTS:
    void costs_at_most_one_event_data() {
        QTest::addColumn<QByteArray>("good");
        QTest::addColumn<int>("seeds");
        QTest::newRow("indented") << QByteArray::fromStdString(sample_trace(3000, true)) << 12;
        QTest::newRow("compact") << QByteArray::fromStdString(sample_trace(3000, false)) << 12;
        for (const char* const name : {"k06-vllm-prefilldecode-piecewise-exec.json.gz", "k08-vllm-decode-full-exec.json.gz",
                                       "k46-kernelforge-lambda-transformer.pt.trace.json"})
            if (const QByteArray good = captured(name); !good.isEmpty()) QTest::newRow(name) << good << 3;
    }

    void costs_at_most_one_event() {
        QFETCH(QByteArray, good);
        QFETCH(int, seeds);
        const std::string text = good.toStdString();
        const auto whole = import_trace(text);
        QVERIFY(whole->result.has_value());
        const std::uint64_t expected = records(*whole);
        std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> cost;  // most lost, most dropped in the ledger
        QStringList failures;
        for (int seed = 1; seed <= seeds; ++seed) {
            for (const Corruption& c : corrupt(text, static_cast<std::uint32_t>(seed))) {
                const auto damaged = import_trace(c.text);
                const auto say = [&](const QString& problem) {
                    failures << QStringLiteral("%1, seed %2: %3").arg(QString::fromStdString(c.name)).arg(seed).arg(problem);
                };
                if (!damaged->result) {
                    say(QString::fromStdString(damaged->result.error().sentence));
                    continue;
                }
                const std::uint64_t kept = records(*damaged), lost = kept > expected ? 0 : expected - kept,
                                    dropped = damaged->ledger.totals().dropped;
                if (kept > expected) say(QStringLiteral("more events than there are"));
                if (lost > touched(text, c)) say(QStringLiteral("lost %1").arg(lost));
                // What is lost is said, unless its bytes are gone.
                if (!c.loses_bytes && dropped != lost) say(QStringLiteral("lost %1, said %2").arg(lost).arg(dropped));
                auto& [most_lost, most_dropped] = cost[c.name];
                most_lost = std::max(most_lost, lost);
                most_dropped = std::max(most_dropped, dropped);
            }
        }
        for (const auto& [name, most] : cost)
            qInfo("%-36s lost at most %llu of %llu, dropped in the ledger %llu", name.c_str(), static_cast<unsigned long long>(most.first),
                  static_cast<unsigned long long>(expected), static_cast<unsigned long long>(most.second));
        QVERIFY2(failures.isEmpty(), qPrintable(failures.join(QLatin1Char('\n'))));
    }

    /// Many damaged places must not cost the rest, nor time without end.
    void survives_damage_everywhere() {
        std::string text = sample_trace(20000, false);
        std::uint64_t damaged = 0;
        for (std::size_t at = text.find("\"cat\": \"cpu_op\""); at != std::string::npos; at = text.find("\"cat\": \"cpu_op\"", at + 10)) {
            if (++damaged % 4 == 0) text.insert(at + 8, 1, '"');
        }
        const auto imported = import_trace(text);
        QVERIFY(imported->result.has_value());
        const LedgerTotals& totals = imported->ledger.totals();
        QVERIFY2(totals.read + 1 >= 20000 - damaged / 4, qPrintable(QString::number(totals.read)));
        QCOMPARE(totals.read + totals.dropped, std::uint64_t{20000});
        QVERIFY(std::any_of(imported->source.health.begin(), imported->source.health.end(),
                            [](const HealthFinding& h) { return h.code == "input.damaged"; }));
    }
};

QTEST_GUILESS_MAIN(TestDamagedTraces)
#include "tst_damaged_traces.moc"
