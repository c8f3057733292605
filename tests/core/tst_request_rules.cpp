// How ranges, arguments and log messages name requests, and what a bad rule file says about itself.
#include <QTest>

#include "core/embedded.h"
#include "core/request_rules.h"
#include "tests/core/request_texts.h"

using namespace faultline;
using namespace faultline::test;

namespace {

QString joined(const std::vector<std::string>& ids) {
    QStringList list;
    for (const std::string& id : ids) list << QString::fromStdString(id);
    return list.join('|');
}

QString words(const RequestText& t) {
    constexpr std::array<const char*, 7> events{"mention", "arrival", "in_step", "first_token", "finished", "aborted", "preempted"};
    QString text = QString::fromLatin1(events[static_cast<std::size_t>(t.event)]) + ' ' + joined(t.ids);
    if (t.prompt_tokens) text += QStringLiteral(" prompt=%1").arg(*t.prompt_tokens);
    if (t.output_tokens) text += QStringLiteral(" output=%1").arg(*t.output_tokens);
    if (t.ttft_ns) text += QStringLiteral(" ttft=%1").arg(*t.ttft_ns);
    if (t.latency_ns) text += QStringLiteral(" latency=%1").arg(*t.latency_ns);
    return text;
}

QString words(const std::optional<RequestText>& t) { return t ? words(*t) : QStringLiteral("nothing"); }

QString words(const std::vector<RequestText>& all) {
    QStringList list;
    for (const RequestText& t : all) list << words(t);
    return list.isEmpty() ? QStringLiteral("nothing") : list.join("; ");
}

QString error_of(std::string_view rules) {
    const auto loaded = RequestRules::load(rules, "my.rules");
    return loaded ? QStringLiteral("no error") : QString::fromStdString(loaded.error().sentence);
}

}  // namespace

class TestRequestRules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_rules_that_come_along_load() {
        const auto rules = RequestRules::load(embedded::kRequestRules, "requests.rules");
        QVERIFY2(rules.has_value(), rules ? "" : rules.error().sentence.c_str());
        QVERIFY(rules->covers(SpanKind::range));
        QVERIFY(rules->covers(SpanKind::op));
        QVERIFY(!rules->covers(SpanKind::kernel));
        QVERIFY(!rules->covers(SpanKind::runtime_call));
        QVERIFY(!rules->covers(SpanKind::python));
    }

    void lists_of_ids_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("ids");
        for (const TextCase& c : id_lists()) QTest::newRow(c.name) << QString::fromUtf8(c.text) << QString::fromUtf8(c.expected);
    }
    void lists_of_ids() {
        QFETCH(QString, text);
        QFETCH(QString, ids);
        QCOMPARE(joined(ids_of_list(text.toStdString())), ids);
    }

    void ranges_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        for (const TextCase& c : range_texts()) QTest::newRow(c.name) << QString::fromUtf8(c.text) << QString::fromUtf8(c.expected);
    }
    void ranges() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const RequestRules rules = RequestRules::built_in();
        const std::string name = text.toStdString();
        QCOMPARE(words(rules.match_span(SpanKind::range, name)), says);
        QVERIFY(rules.may_match_span(name) || says == "nothing");
        QCOMPARE(words(rules.match_span(SpanKind::kernel, name)), QStringLiteral("nothing"));
    }

    void arguments_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        for (const TextCase& c : argument_texts()) QTest::newRow(c.name) << QString::fromUtf8(c.text) << QString::fromUtf8(c.expected);
    }
    void arguments() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        QCOMPARE(words(RequestRules::built_in().match_args(SpanKind::range, text.toStdString())), says);
    }

    void messages_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        for (const TextCase& c : message_texts()) QTest::newRow(c.name) << QString::fromUtf8(c.text) << QString::fromUtf8(c.expected);
    }
    void messages() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        QCOMPARE(words(RequestRules::built_in().match_log("logger.py:39", text.toStdString())), says);
    }

    void a_long_prompt_is_read_through_in_time() {
        const std::string prompt(400'000, 'x');
        const RequestRules rules = RequestRules::built_in();
        QCOMPARE(words(rules.match_log({}, "Received request cmpl-0001: prompt: '" + prompt + "', params: x")),
                 QStringLiteral("arrival cmpl-0001"));
        QCOMPARE(words(rules.match_log({}, "Receive: obj=GenerateReqInput(text='" + prompt + "', rid='ab01')")),
                 QStringLiteral("arrival ab01"));
    }

    void loggers_and_within_narrow_a_rule() {
        const auto rules =
            RequestRules::load("rule mine\n  in log\n  match id=(\\w+)\n  within ^batch\n  loggers core.py,api\n  id 1\n", "my.rules");
        QVERIFY2(rules.has_value(), rules ? "" : rules.error().sentence.c_str());
        QCOMPARE(words(rules->match_log("core.py:12", "batch id=a id=b")), QStringLiteral("mention a; mention b"));
        QCOMPARE(words(rules->match_log("metrics.py:12", "batch id=a")), QStringLiteral("nothing"));
        QCOMPARE(words(rules->match_log("core.py:12", "a batch id=a")), QStringLiteral("nothing"));
    }

    void engine_figures_are_read_in_seconds() {
        const auto rules = RequestRules::load(
            "rule mine\n  in log\n  event finished\n  match ^done (\\w+) in ([\\d.e+-]+) first ([\\d.e+-]+)\n  id 1\n  latency_s 2\n  "
            "ttft_s 3\n",
            "my.rules");
        QVERIFY(rules.has_value());
        QCOMPARE(words(rules->match_log({}, "done a in 1.5 first 2.5e-2")), QStringLiteral("finished a ttft=25000000 latency=1500000000"));
        QCOMPARE(words(rules->match_log({}, "done a in 1e300 first 1..2")), QStringLiteral("finished a"));
    }

    void a_bad_rule_file_says_where() {
        QCOMPARE(error_of("match x"), QStringLiteral("my.rules line 1: \"match\" stands before the first \"rule\" line"));
        QCOMPARE(error_of("rule a\n  in log\n  id 1"), QStringLiteral("my.rules line 1: rule \"a\" has no \"match\" line"));
        QCOMPARE(error_of("rule a\n  match (x)\n  id 1"),
                 QStringLiteral("my.rules line 1: rule \"a\" has no \"in\" line (range, log, args)"));
        QCOMPARE(error_of("rule a\n  match (x)\n  in log"), QStringLiteral("my.rules line 1: rule \"a\" has no \"id\" line"));
        QCOMPARE(error_of("rule a\n  match (x)\n  in log\n  id 2"),
                 QStringLiteral("my.rules line 1: \"id\" names group 2, but the pattern of rule \"a\" has 1"));
        QCOMPARE(error_of("rule a\n  match (x)\n  in log\n  id one"),
                 QStringLiteral("my.rules line 4: \"id\" needs the number of a group, not \"one\""));
        QVERIFY(error_of("rule a\n  match (x\n").startsWith("my.rules line 2: the pattern is no regular expression"));
        QVERIFY(error_of("rule a\n  event ends\n").startsWith("my.rules line 2: unknown event \"ends\""));
        QVERIFY(error_of("rule a\n  in trace\n").startsWith("my.rules line 2: unknown place \"trace\""));
        QCOMPARE(error_of("rule a\n  kinds range,stone\n"), QStringLiteral("my.rules line 2: unknown span kind \"stone\""));
        QCOMPARE(error_of("rule a\n  colour red\n"), QStringLiteral("my.rules line 2: unknown key \"colour\""));
        QVERIFY(
            error_of("rule a\n  match (x)\n  in log\n  id 1\nrule a\n").startsWith("my.rules line 5: rule \"a\" stands already in line 1"));
        QCOMPARE(error_of("rule a\n  match (x)\n  in log\n  kinds op\n  id 1"),
                 QStringLiteral("my.rules line 1: rule \"a\" reads messages, which have no kinds"));
        QCOMPARE(error_of("rule a\n  match (x)\n  in args\n  loggers op\n  id 1"),
                 QStringLiteral("my.rules line 1: rule \"a\" reads spans, which have no loggers"));
    }
};

QTEST_APPLESS_MAIN(TestRequestRules)
#include "tst_request_rules.moc"
