// Numbers read exactly, and events as values: fields, columns, the rest of the arguments, repairs.
#include <QTest>
#include <bit>
#include <cmath>
#include <map>

#include "importers/kineto/event_repair.h"
#include "importers/kineto/kineto_event.h"
#include "importers/kineto/number_text.h"

using namespace faultline;
using namespace faultline::kineto;

namespace {

/// What a test looks at; the views of an event do not outlive accept().
struct Kept {
    char phase = 0;
    std::string category, name, id, args, rest;
    RowId::Kind pid_kind{}, tid_kind{};
    std::int64_t pid = 0, tid = 0;
    std::string tid_text;
    TimeNs time = 0, duration = 0;
    bool has_time = false, has_duration = false;
    std::int64_t device = kNull, stream = kNull, correlation = kNull;
    std::map<Column, std::int64_t> columns;
    TextRepairs repairs;
    std::uint64_t offset = 0;
};

struct Collector final : EventSink {
    bool accept(const KinetoEvent& e) override {
        Kept k;
        k.phase = e.phase;
        k.category = e.category;
        k.name = e.name;
        k.id = e.id;
        k.args = e.args;
        for (std::size_t i = 0; i < e.rest_count; ++i) k.rest += (i > 0 ? "|" : "") + std::string(e.rest[i]);
        k.pid_kind = e.pid.kind;
        k.tid_kind = e.tid.kind;
        k.pid = e.pid.number;
        k.tid = e.tid.number;
        k.tid_text = e.tid.text;
        k.time = e.time;
        k.duration = e.duration;
        k.has_time = e.has_time;
        k.has_duration = e.has_duration;
        k.device = e.device;
        k.stream = e.stream;
        k.correlation = e.correlation;
        for (std::size_t i = 0; i < e.value_count; ++i) k.columns[e.values[i].column] = e.values[i].value;
        k.repairs = e.repairs;
        k.offset = e.offset;
        events.push_back(std::move(k));
        return true;
    }
    std::vector<Kept> events;
};

/// Texts joined to a run as the cutter would give it out.
struct Run {
    explicit Run(const std::vector<std::string>& texts) {
        text = " ";
        std::vector<std::pair<std::size_t, std::size_t>> borders;
        for (const std::string& t : texts) {
            if (text.size() > 1) text += ", ";
            borders.emplace_back(text.size(), text.size() + t.size());
            text += t;
        }
        text.append(256, ' ');
        for (const auto& [from, to] : borders) events.push_back({text.data() + from, text.data() + to, false});
    }
    std::string text;
    std::vector<CutEvent> events;
};

Kept parse(const std::string& text) {
    StrictJson strict;
    EventParser parser(strict);
    Collector collector;
    Run run({text});
    return parser.parse_run(run.events, 0, collector) == 1 ? collector.events.front() : Kept{};
}

Kept repair(const std::string& text) {
    StrictJson strict;
    EventParser parser(strict);
    Collector collector;
    Run run({text});
    return parser.parse_one(run.events.front(), 0, collector) ? collector.events.front() : Kept{};
}

}  // namespace

class TestKinetoEvent : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void times_are_exact_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qlonglong>("ns");
        constexpr qlonglong kBad = std::numeric_limits<qlonglong>::min();
        QTest::newRow("whole") << "12" << 12000LL;
        QTest::newRow("zero") << "0" << 0LL;
        QTest::newRow("three decimals") << "6512345678901.123" << 6512345678901123LL;
        QTest::newRow("one decimal means tenths") << "12.5" << 12500LL;
        QTest::newRow("epoch") << "1712195495501688.547" << 1712195495501688547LL;
        QTest::newRow("rounds half up") << "1.0005" << 1001LL;
        QTest::newRow("rounds down") << "1.000499999" << 1000LL;
        QTest::newRow("carries") << "0.9999" << 1000LL;
        QTest::newRow("many decimals") << "828.33653125" << 828337LL;
        QTest::newRow("exponent") << "1.5e3" << 1500000LL;
        QTest::newRow("negative exponent") << "1500E-3" << 1500LL;
        QTest::newRow("tiny") << "1e-400" << 0LL;
        QTest::newRow("negative") << "-2.5" << -2500LL;
        QTest::newRow("17 digits") << "00000000000000012.5" << 12500LL;
        QTest::newRow("largest") << "9223372036854775.807" << 9223372036854775807LL;
        QTest::newRow("too large") << "9223372036854775.808" << kBad;
        QTest::newRow("far too large") << "1e30" << kBad;
        QTest::newRow("nothing") << "" << kBad;
        QTest::newRow("minus") << "-" << kBad;
        QTest::newRow("no decimals") << "1." << kBad;
        QTest::newRow("word") << "nan" << kBad;
        QTest::newRow("junk behind") << "12x" << kBad;
        QTest::newRow("two points") << "1.2.3" << kBad;
    }
    void times_are_exact() {
        QFETCH(QString, text);
        QFETCH(qlonglong, ns);
        const std::string t = text.toStdString();
        QCOMPARE(qlonglong{microseconds_to_ns(t).value_or(std::numeric_limits<qlonglong>::min())}, ns);
    }

    void whole_numbers() {
        QCOMPARE(whole_number("0"), std::optional<std::int64_t>(0));
        QCOMPARE(whole_number("-7"), std::optional<std::int64_t>(-7));
        QCOMPARE(whole_number("9223372036854775807"), std::optional<std::int64_t>(std::numeric_limits<std::int64_t>::max()));
        QCOMPARE(whole_number("10159970886766084423"), std::optional<std::int64_t>(std::bit_cast<std::int64_t>(10159970886766084423ULL)));
        QCOMPARE(whole_number("18446744073709551615"), std::optional<std::int64_t>(-1));
        for (const char* const bad : {"", "-", "1.5", "1e3", "18446744073709551616", "-9223372036854775808", "9223372036854775808", "0x1f",
                                      "99999999999999999999999"})
            QVERIFY2(!whole_number(bad), bad);
    }

    void real_numbers() {
        QCOMPARE(real_number("10.75"), std::optional<double>(10.75));
        QCOMPARE(real_number("1e3"), std::optional<double>(1000.0));
        QVERIFY(std::isnan(*real_number("nan")) && std::isinf(*real_number("-inf")) && std::isinf(*real_number("Infinity")));
        QVERIFY(!real_number("x") && !real_number(""));
    }

    void reads_a_kernel() {
        const Kept k = parse(
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm<\\\"a\\\">\", \"pid\": 0, \"tid\": 7,\n            \"ts\": "
            "6512345679305.982, \"dur\": 15.743,\n            \"args\": {\"External id\": 3, \"queued\": 0, \"device\": 0, \"context\": "
            "1,\n              \"stream\": 7, \"correlation\": 218487, \"registers per thread\": 32,\n              \"grid\": [1, 2, 3], "
            "\"block\": [4, 5, 6], \"priority\": -5, \"graph id\": 9, \"graph node id\": 12}}");
        QCOMPARE(k.phase, 'X');
        QCOMPARE(k.category, std::string("kernel"));
        QCOMPARE(k.name, std::string("gemm<\\\"a\\\">"));
        QCOMPARE(k.time, TimeNs{6512345679305982});
        QCOMPARE(k.duration, TimeNs{15743});
        QCOMPARE(k.device, std::int64_t{0});
        QCOMPARE(k.stream, std::int64_t{7});
        QCOMPARE(k.correlation, std::int64_t{218487});
        QCOMPARE(
            k.columns,
            (std::map<Column, std::int64_t>{
                {Column::external_id, 3}, {Column::context, 1}, {Column::priority, -5}, {Column::graph_id, 9}, {Column::graph_node, 12}}));
        QCOMPARE(k.rest, std::string(R"("registers per thread": 32,
              "grid": [1, 2, 3], "block": [4, 5, 6])"));
        QVERIFY(k.args.starts_with("{\"External id\"") && k.args.ends_with("\"graph node id\": 12}"));
    }

    void takes_known_arguments_into_columns() {
        const auto columns = [](const char* args) { return parse(std::string(R"({"ph": "X", "ts": 1, "args": )") + args + "}").columns; };
        using Columns = std::map<Column, std::int64_t>;
        QCOMPARE(columns(R"({"external id": 5})"), (Columns{{Column::external_id, 5}}));
        QCOMPARE(columns(R"({"External Id": 5})"), (Columns{{Column::external_id, 5}}));
        QCOMPARE(columns(R"({"External id": "5"})"), (Columns{{Column::external_id, 5}}));
        QCOMPARE(columns(R"({"Record function id": 1, "Sequence number": 2, "Fwd thread id": 3, "Ev Idx": 4})"),
                 (Columns{{Column::record_function, 1}, {Column::sequence, 2}, {Column::forward_thread, 3}, {Column::event_index, 4}}));
        QCOMPARE(columns(R"({"Python id": 1, "Python parent id": null, "Python module id": 3})"),
                 (Columns{{Column::python_id, 1}, {Column::python_module, 3}}));
        QCOMPARE(
            columns(R"({"Addr": 20644364288, "Bytes": -36879360, "Total Allocated": 5, "Total Reserved": 6})"),
            (Columns{
                {Column::address, 20644364288}, {Column::bytes, -36879360}, {Column::total_allocated, 5}, {Column::total_reserved, 6}}));
        QCOMPARE(columns(R"~({"bytes": 32768, "memory bandwidth (GB/s)": 10.5})~"),
                 (Columns{{Column::bytes, 32768}, {Column::bandwidth, std::bit_cast<std::int64_t>(10.5)}}));
        QCOMPARE(columns(R"({"cbid": 211})"), (Columns{{Column::callback_id, 211}}));
        QCOMPARE(columns(R"({"cid": 48})"), (Columns{{Column::callback_id, 48}}));
        QCOMPARE(columns(R"({"Group size": 8, "Seq": 12})"), (Columns{{Column::group_size, 8}, {Column::comm_sequence, 12}}));
        QCOMPARE(columns(R"({"queued": 2.5})"), (Columns{{Column::queued, 2500}}));
        QCOMPARE(columns(R"({})"), (Columns{}));
    }

    void keeps_what_is_no_number_in_the_rest() {
        QCOMPARE(parse(R"({"ph": "X", "ts": 1, "args": {"External id": "abc", "bytes": 1.5, "stream": "x"}})").rest,
                 std::string(R"("External id": "abc", "bytes": 1.5, "stream": "x")"));
        const Kept unknown = parse(R"({"attr": {"Power": "1"}, "ph": "B", "name": "n", "ts": 1, "tts": 5})");
        QCOMPARE(unknown.rest, std::string(R"("attr": {"Power": "1"}|"tts": 5)"));
        QCOMPARE(parse(R"({"ph": "X", "ts": 1, "args": [1, 2]})").rest, std::string(R"("args": [1, 2])"));
    }

    void reads_rows_of_any_kind() {
        const Kept words = parse(R"({"ph": "X", "pid": "Spans", "tid": "stream 7", "ts": "5.25", "dur": "1"})");
        QVERIFY(words.pid_kind == RowId::Kind::text && words.tid_kind == RowId::Kind::text);
        QCOMPARE(words.tid_text, std::string("stream 7"));
        QCOMPARE(words.time, TimeNs{5250});
        QCOMPARE(words.duration, TimeNs{1000});
        QCOMPARE(parse(R"({"ph": "X", "pid": "5555", "ts": 1})").pid_kind, RowId::Kind::number);
        QCOMPARE(parse(R"({"ph": "X", "pid": 12.0, "ts": 1})").pid, std::int64_t{12});
        QCOMPARE(parse(R"({"ph": "X", "ts": 1})").tid_kind, RowId::Kind::none);
        const Kept huge = parse(R"({"ph": "X", "tid": 15514734831341844875, "ts": 1})");
        QVERIFY(huge.tid_kind == RowId::Kind::text && huge.tid_text == "15514734831341844875");
        QCOMPARE(parse(R"({"ph": "f", "id": "0x402", "ts": 1})").id, std::string("0x402"));
    }

    void stops_at_a_bad_event() {
        const std::string good = R"({"ph": "X", "name": "good", "ts": 1, "args": {"a": [1, 2]}})";
        for (const char* const bad : {R"({"ph": "X", "ph": "X", "ts": 1})", R"({"ph": "X" "ts": 1})", R"({"ph": "X", "ts" 1})",
                                      R"({"ph": "X", "ts": 1, "args": {"a": 1]})", R"({"ph": 1})", R"({"ph": "X", "pid": [1]})"}) {
            StrictJson strict;
            EventParser parser(strict);
            Collector collector;
            Run run({good, good, bad, good});
            const std::string before = run.text;
            QCOMPARE(parser.parse_run(run.events, 100, collector), std::size_t{2});
            QVERIFY(!parser.why().empty());
            QCOMPARE(run.text, before);
            QCOMPARE(collector.events.back().offset, std::uint64_t{100 + good.size() + 2});
            const std::span<const CutEvent> rest(run.events);
            QVERIFY(!parser.parse_one(rest[2], 0, collector));
            QCOMPARE(parser.parse_run(rest.subspan(3), 0, collector), std::size_t{1});
        }
    }

    void repairs_what_producers_write_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("encoding") << QByteArray("{\"ph\": \"X\", \"name\": \"a\xff\xc3(b\", \"ts\": 1}")
                                  << QByteArray("a\xEF\xBF\xBD\xEF\xBF\xBD(b");
        QTest::newRow("newline") << QByteArray("{\"ph\": \"X\", \"name\": \"a\nb\", \"ts\": 1}") << QByteArray("a\\u000ab");
        QTest::newRow("control outside") << QByteArray("{\"ph\": \"X\",\x01 \"name\": \"ab\", \"ts\": 1}") << QByteArray("ab");
        QTest::newRow("escape") << QByteArray(R"({"ph": "X", "name": "C:\path\q", "ts": 1})") << QByteArray(R"(C:\\path\\q)");
        QTest::newRow("bare nan") << QByteArray(R"({"ph": "X", "name": "a", "ts": 1, "args": {"x": nan, "y": -inf, "z": [NaN, Infinity]}})")
                                  << QByteArray("a");
        QTest::newRow("quotes") << QByteArray(R"({"ph": "X", "name": "say "hello" twice", "ts": 1})")
                                << QByteArray("say \\\"hello\\\" twice");
    }
    void repairs_what_producers_write() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, name);
        const Kept k = repair(text.toStdString());
        QCOMPARE(k.phase, 'X');
        QCOMPARE(QByteArray::fromStdString(k.name), name);
        QCOMPARE(k.time, TimeNs{1000});
        QVERIFY(k.repairs.any());
    }

    void repairs_leave_good_text_alone() {
        std::string out;
        const std::string good = "{\"ph\": \"X\", \"n\": [1e5, true, null, -2], \"s\": \"\\u00e9 \\\\ \\\" é ⌘ 😀\"}";
        QVERIFY(!repair_event(good, false, out).any());
        QCOMPARE(out, good);
        out.clear();
        QVERIFY(!repair_event(good, true, out).any());
        QCOMPARE(out, good);
    }

    void gives_members_and_elements() {
        StrictJson json;
        const auto members = json.members("{\"name\": \"a\\\"b\", \"n\": 5, \"t\": true, \"z\": null, \"o\": {\"x\": [1, 2]}}");
        QCOMPARE(members.size(), std::size_t{5});
        QCOMPARE(members[0].text, std::string("a\"b"));
        QVERIFY(members[1].kind == JsonMember::Kind::number && members[1].text == "5");
        QVERIFY(members[2].kind == JsonMember::Kind::truth && members[3].kind == JsonMember::Kind::null);
        QCOMPARE(members[4].text, std::string(R"({"x":[1,2]})"));
        QVERIFY(json.members("[1]").empty());
        QCOMPARE(json.elements(R"([{"id": 0}, 7])"), (std::vector<std::string>{R"({"id":0})", "7"}));
        QCOMPARE(json.unescaped(R"(tab\t\u00e9)"), std::string("tab\t\u00e9"));
        QCOMPARE(json.unescaped(R"(\ud800 alone)"), std::string(R"(\ud800 alone)"));
    }
};

QTEST_GUILESS_MAIN(TestKinetoEvent)
#include "tst_kineto_event.moc"
