// Finding values and events in bytes: the fast scan against a slow one, members, events, damage.
#include <QTest>
#include <random>

#include "importers/kineto/event_cutter.h"
#include "importers/kineto/json_scan.h"

using namespace faultline::kineto;

namespace {

/// The rules of scan_object and scan_value, one byte at a time.
struct SlowScan {
    bool in_string = false, escaped = false, flagged = false;
    int depth = 0;
    const char* run(std::string_view text, bool brackets) {
        for (const char& c : text) {
            const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
            if (static_cast<unsigned char>(c) < 0x20 && (in_string || !space)) flagged = true;
            const bool was_escaped = escaped;
            escaped = c == '\\' && !was_escaped;
            if (c == '"' && !was_escaped) in_string = !in_string;
            if (in_string) continue;
            if (c == '{' || (brackets && c == '[')) ++depth;
            if ((c == '}' || (brackets && c == ']')) && --depth <= 0) return &c + 1;
        }
        return nullptr;
    }
};

struct Cut {
    std::vector<std::string> events, members;
    std::vector<CutTrouble> troubles;
    std::uint64_t lost = 0;
    bool list_ended = false;
};

/// Whether a parser would refuse it: it holds two events.
bool is_two(const CutEvent& e) {
    const std::string_view text(e.begin, static_cast<std::size_t>(e.end - e.begin));
    return text.find("\"ph\"") != text.rfind("\"ph\"");
}

/// Cuts a text that comes in pieces of `piece` bytes.
Cut cut(const std::string& text, std::size_t piece = 1 << 20) {
    Cut result;
    EventCutter cutter;
    std::string buffer(1, ' ');
    buffer.reserve(text.size() + 256);
    CutWindow window;
    std::size_t given = 0;
    window.begin = window.end = buffer.data() + 1;
    for (;;) {
        switch (cutter.next(window)) {
            case EventCutter::Piece::more: {
                const std::size_t n = std::min(piece, text.size() - given);
                std::memcpy(window.end, text.data() + given, n);
                window.end += n;
                given += n;
                window.last = n == 0;
                break;
            }
            case EventCutter::Piece::run:
                for (const CutEvent& e : cutter.events()) {
                    if (const char* const inside = is_two(e) ? cutter.event_inside(e) : nullptr; inside != nullptr) {
                        cutter.go_back(window, inside);
                        ++result.lost;
                        break;
                    }
                    result.events.emplace_back(e.begin, e.end);
                    cutter.learn(e);
                }
                break;
            case EventCutter::Piece::member:
                result.members.push_back(std::string(cutter.member_key()) + "=" + std::string(cutter.member_value()));
                break;
            case EventCutter::Piece::trouble:
                result.troubles.push_back(cutter.trouble());
                result.lost += cutter.trouble().records;
                break;
            case EventCutter::Piece::end: result.list_ended = cutter.list_ended(); return result;
        }
    }
}

std::string op_event(int i) {
    return "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op " + std::to_string(i) +
           "\", \"pid\": 1, \"tid\": 2, \"ts\": " + std::to_string(i) + R"(.5, "dur": 3, "args": {"k": [1, {"x": "}"}]}})";
}

std::string events(int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += (i > 0 ? ",\n" : "") + op_event(i);
    return text;
}

}  // namespace

class TestEventCutter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void scans_like_the_slow_scan() {
        std::mt19937 random(7);
        constexpr std::string_view kAlphabet = "{}[]\"\\ab,: \n\x01";
        for (int round = 0; round < 20000; ++round) {
            std::string text = "{";
            const int length = static_cast<int>(random() % 300);
            for (int i = 0; i < length; ++i) text += random() % 4 == 0 ? kAlphabet[random() % kAlphabet.size()] : 'x';
            const char* const end = text.data() + text.size();
            for (const bool brackets : {false, true}) {
                SlowScan slow;
                ScanState fast;
                const char* const expected = slow.run(text, brackets);
                const char* const got = brackets ? scan_value(fast, text.data(), end) : scan_object(fast, text.data(), end);
                QCOMPARE(got, expected);
                QCOMPARE(fast.flagged, slow.flagged);
            }
        }
    }

    void keeps_its_state_between_pieces() {
        std::mt19937 random(11);
        const std::string text = "{\"a\\\\\": \"\\\"}\\\\\\\\\", \"b\": [{\"c\": \"{{{\"}], \"long\": \"" + std::string(500, '\\') + "x\"}";
        for (int round = 0; round < 500; ++round) {
            ScanState state;
            const char* at = text.data();
            const char* const end = text.data() + text.size();
            const char* found = nullptr;
            while (found == nullptr && at != end) {
                const char* const piece = std::min(end, at + 1 + random() % 150);
                found = scan_object(state, at, piece);
                at = piece;
            }
            QCOMPARE(found, end);
        }
    }

    void cuts_members_and_events() {
        const std::string text = "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"name\": \"a\\\"b\", \"traceEvents\": [" +
                                 events(3) + R"(], "baseTimeNanoseconds": 17, "traceName": "x"})";
        for (const std::size_t piece : {1ul, 3ul, 64ul, 1000ul}) {
            const Cut c = cut(text, piece);
            QCOMPARE(c.events, (std::vector<std::string>{op_event(0), op_event(1), op_event(2)}));
            QCOMPARE(c.members, (std::vector<std::string>{"schemaVersion=1", R"(deviceProperties=[{"id": 0}])", "name=\"a\\\"b\"",
                                                          "baseTimeNanoseconds=17", R"(traceName="x")"}));
            QVERIFY(c.troubles.empty() && c.list_ended);
        }
    }

    void cuts_bare_arrays() {
        QCOMPARE(cut("[" + events(5) + "]\n").events.size(), std::size_t{5});
        QCOMPARE(cut("[" + events(5) + "]\n").troubles.size(), std::size_t{0});
        QCOMPARE(cut("\xEF\xBB\xBF[" + events(5) + "]\n").events.size(), std::size_t{5});
        QCOMPARE(cut("[]").events.size(), std::size_t{0});
    }

    void takes_a_list_without_its_end() {
        for (const char* const tail : {",", "", ",\n", "]", "}"}) {
            const Cut c = cut("[" + events(4) + tail);
            QCOMPARE(c.events.size(), std::size_t{4});
            QCOMPARE(c.lost, std::uint64_t{0});
        }
        const Cut footer = cut(R"({"traceEvents": [)" + events(4) + R"(, "traceName": "x"})");
        QCOMPARE(footer.events.size(), std::size_t{4});
        QCOMPARE(footer.members, (std::vector<std::string>{R"(traceName="x")"}));
    }

    void takes_events_without_a_list() {
        QCOMPARE(cut(events(4)).events.size(), std::size_t{4});  // the beginning of the file is gone
        QCOMPARE(cut(op_event(0) + "\n" + op_event(1) + "\n" + op_event(2)).events.size(), std::size_t{3});  // one event a line
    }

    void skips_long_members() {
        const std::string big = "[" + std::string(3000000, '7') + "]";
        const Cut c =
            cut(R"({"stackFrames": )" + big + ", \"note\": \"" + std::string(2000000, '}') + "\", \"traceEvents\": [" + events(2) + "]}",
                65536);
        QCOMPARE(c.events.size(), std::size_t{2});
        QCOMPARE(c.members, (std::vector<std::string>{"stackFrames=", "note="}));
        QVERIFY(c.troubles.empty());
    }

    void finds_the_events_behind_a_broken_header() {
        for (const char* const header : {"{\"deviceProperties\": [{\"id\": 0, \"name\": \"GPU}], \"traceEvents\": [",
                                         R"({"a": {"b": 1, "traceEvents": [)", R"({"a" 1, "traceEvents": [)"}) {
            const Cut c = cut(header + events(50) + "]}", 4096);
            QCOMPARE(c.events.size(), std::size_t{50});
            QCOMPARE(c.troubles.front().kind, CutTrouble::Kind::broken_header);
        }
    }

    void loses_one_event_by_one_byte_data() {
        QTest::addColumn<QByteArray>("bad");
        const QByteArray good = QByteArray::fromStdString(op_event(50));
        QTest::newRow("stray quote") << QByteArray(good).replace("cpu_op", "cpu\"op");
        QTest::newRow("missing quote") << QByteArray(good).replace("\"cpu_op", "cpu_op");
        QTest::newRow("stray brace") << QByteArray(good).replace("\"pid\"", "{\"pid\"");
        QTest::newRow("stray closing brace") << QByteArray(good).replace("\"pid\"", "}\"pid\"");
        QTest::newRow("stray closing brace and comma") << QByteArray(good).replace(", \"pid\"", "}, \"pid\"");
        QTest::newRow("missing closing brace") << good.chopped(1);
        QTest::newRow("missing opening brace") << good.sliced(1);
        QTest::newRow("missing bracket") << QByteArray(good).replace("]", "");
        QTest::newRow("stray bracket") << QByteArray(good).replace("\"pid\"", "]\"pid\"");
        QTest::newRow("cut short") << good.first(40);
        QTest::newRow("hole") << QByteArray(good).replace(20, 60, QByteArray(60, '\0'));
    }
    void loses_one_event_by_one_byte() {
        QFETCH(QByteArray, bad);
        std::string text = R"({"traceEvents": [)" + events(50) + ",\n" + bad.toStdString() + ",\n";
        for (int i = 51; i < 3000; ++i) text += op_event(i) + (i + 1 < 3000 ? ",\n" : "");
        text += R"(], "traceName": "x"})";
        const Cut c = cut(text, 10000);
        std::size_t good = 0;
        for (const std::string& e : c.events)
            if (e.size() < 200 && e.starts_with("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op ") && e.ends_with("}]}}")) ++good;
        // A bad event may be among those cut, for a parser to refuse; the good ones must all be there.
        QVERIFY2(good >= 2999, qPrintable(QString::number(good)));
        QVERIFY(c.lost <= 1);
        QCOMPARE(c.members.size(), std::size_t{1});
    }

    /// Metadata events begin with another key, which was not met before the damage.
    void finds_events_of_another_kind() {
        const std::string names = R"({"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "python"}},)" + std::string("\n") +
                                  R"({"name": "process_labels", "ph": "M", "pid": 1, "args": {"labels": "CPU"}})";
        const std::string damaged = "{\"ph\": \"X\", \"name\": open\", \"ts\": 1}";
        const Cut c = cut("[" + events(20) + ",\n" + damaged + ",\n" + names + "]");
        QCOMPARE(c.lost, std::uint64_t{1});
        QCOMPARE(c.events.size(), std::size_t{22});
    }

    void flags_control_bytes() {
        EventCutter cutter;
        std::string text =
            "[" + op_event(0) + "," + "{\"ph\": \"X\", \"name\": \"a" + "\n" + "b\"}" + "," + op_event(1) + "]" + std::string(300, ' ');
        CutWindow window{text.data(), text.data() + text.size(), 0, true};
        QCOMPARE(cutter.next(window), EventCutter::Piece::run);
        QCOMPARE(cutter.events().size(), std::size_t{1});
        QCOMPARE(cutter.next(window), EventCutter::Piece::run);
        QVERIFY(cutter.events().size() == 1 && cutter.events().front().flagged);
        QCOMPARE(cutter.next(window), EventCutter::Piece::run);
        QVERIFY(!cutter.events().front().flagged);
    }

    void says_what_is_between_events() {
        QCOMPARE(cut("[" + op_event(0) + " " + op_event(1) + "]").troubles.front().kind, CutTrouble::Kind::no_comma);
        QCOMPARE(cut("[" + op_event(0) + " " + op_event(1) + "]").events.size(), std::size_t{2});
        QCOMPARE(cut("[" + op_event(0) + ",," + op_event(1) + "]").events.size(), std::size_t{2});
        QCOMPARE(cut("[" + op_event(0) + "}, " + op_event(1) + "]").events.size(), std::size_t{2});
        QCOMPARE(cut("[" + op_event(0) + "], " + op_event(1) + "]").events.size(), std::size_t{2});
        QCOMPARE(cut("[" + op_event(0) + "]} garbage").troubles.front().kind, CutTrouble::Kind::trailing_bytes);
    }

    void takes_events_longer_than_the_limit() {
        const std::string big = "{\"ph\": \"X\", \"name\": \"" + std::string(700000, 'n') + "\"}";
        const Cut c = cut("[" + op_event(0) + "," + big + "," + op_event(1) + "]", 100000);
        QCOMPARE(c.events.size(), std::size_t{3});
        QVERIFY(c.events[1] == big);
    }
};

QTEST_GUILESS_MAIN(TestEventCutter)
#include "tst_event_cutter.moc"
