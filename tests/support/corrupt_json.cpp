#include "corrupt_json.h"

#include <algorithm>
#include <random>

namespace faultline::test {

namespace {

/// A good text and a source of places in it.
class Damager {
public:
    Damager(const std::string& good, std::uint32_t seed) : good_(good), random_(seed) {
        events_ = good.find("\"traceEvents\"");
        if (events_ == std::string::npos) events_ = 0;
    }

    /// The next place where `what` stands, after a random byte of the events (before the last tenth of the file).
    std::size_t place(std::string_view what) {
        const std::size_t from = events_ + random_() % std::max<std::size_t>(1, (good_.size() - events_) * 9 / 10);
        const std::size_t at = good_.find(what, from);
        return at == std::string::npos ? std::min(good_.rfind(what), good_.size()) : at;
    }
    std::size_t any_byte() { return place(": ") + 1 + random_() % 20; }

    Corruption replaced(std::string name, std::size_t at, std::size_t n, std::string_view by, bool loses = false) const {
        std::string text = good_;
        if (at <= text.size()) text.replace(at, n, by);  // a text without such a place stays as it is
        return {std::move(name), loses, std::move(text), at, loses ? n : 0};
    }

private:
    const std::string& good_;
    std::mt19937 random_;
    std::size_t events_ = 0;
};

}  // namespace

std::vector<Corruption> corrupt(const std::string& good, std::uint32_t seed) {
    Damager d(good, seed);
    std::vector<Corruption> all;
    const auto after = [&](std::string_view what) { return d.place(what) + what.size(); };
    all.push_back(d.replaced("stray quote", d.any_byte(), 0, "\""));
    all.push_back(d.replaced("missing quote before a value", after("\"name\": "), 1, ""));
    all.push_back(d.replaced("missing quote after a key", after("\"cat"), 1, ""));
    all.push_back(d.replaced("missing quote before a key", d.place("\"tid\""), 1, ""));
    all.push_back(d.replaced("stray opening brace", d.any_byte(), 0, "{"));
    all.push_back(d.replaced("stray closing brace", d.any_byte(), 0, "}"));
    all.push_back(d.replaced("missing opening brace of arguments", after("\"args\": "), 1, ""));
    all.push_back(d.replaced("missing closing brace", d.place("}"), 1, ""));
    all.push_back(d.replaced("stray opening bracket", d.any_byte(), 0, "["));
    all.push_back(d.replaced("stray closing bracket", d.any_byte(), 0, "]"));
    all.push_back(d.replaced("missing opening brace of an event", d.place("{"), 1, ""));
    all.push_back(d.replaced("missing comma between members", d.place(", \""), 1, ""));
    all.push_back(d.replaced("missing comma between events", d.place("},") + 1, 1, ""));
    all.push_back(d.replaced("stray comma", d.any_byte(), 0, ","));
    all.push_back(d.replaced("missing colon", d.place("\": ") + 1, 1, ""));
    all.push_back(d.replaced("control byte", d.any_byte(), 0, "\x02"));
    all.push_back(d.replaced("bytes that are no UTF-8", after("\"name\": \""), 0, "\xff\xfe\xc0"));
    all.push_back(d.replaced("bad escape", after("\"name\": \""), 0, "C:\\path\\q"));
    all.push_back(d.replaced("newline in a text", after("\"name\": \""), 0, "two\nlines"));
    all.push_back(d.replaced("quotes in a text", after("\"name\": \""), 0, "say \"hello\" "));
    all.push_back(d.replaced("bare nan", after("\"dur\": "), 0, "nan, \"was\": "));
    all.push_back(d.replaced("bare inf", after("\"args\": {"), 0, "\"x\": -inf, "));
    all.push_back(d.replaced("second phase", after("\"ph\": \"X\""), 0, ", \"ph\": \"X\""));
    all.push_back(d.replaced("hole of NULs", d.any_byte(), 400, std::string(400, '\0'), true));
    all.push_back(d.replaced("bytes gone", d.any_byte(), 600, "", true));
    const std::size_t cut = d.any_byte();
    all.push_back(d.replaced("cut", cut, good.size() - cut, "", true));
    all.push_back(d.replaced("trailing garbage", good.size(), 0, "}\n}]garbage"));
    return all;
}

std::string sample_trace(int events, bool indented) {
    const std::string gap = indented ? "\n    " : " ";
    std::string text = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [)";
    for (int i = 0; i < events; ++i) {
        const std::string n = std::to_string(i), time = std::to_string(1000 + i * 10) + "." + std::to_string(100 + i % 900);
        if (i > 0) text += ",";
        text += indented ? "\n  {\n    " : " {";
        if (i % 3 == 0)
            text += R"~("ph": "X", "cat": "kernel", "name": "void k<{lambda(int)#)~" + n + R"~(}>(int)", "pid": 0, "tid": 7,)~" + gap +
                    R"("ts": )" + time + R"(, "dur": 5.250,)" + gap + R"("args": {)" + gap + R"("External id": )" + n +
                    R"(, "device": 0, "context": 1,)" + gap + R"("stream": 7, "correlation": )" + n +
                    R"(, "grid": [1, 2, 3], "block": [4, 5, 6])" + gap + "}";
        else if (i % 3 == 1)
            text += R"("ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 77,)" + gap + R"("ts": )" + time +
                    R"(, "dur": 8.000,)" + gap + R"("args": {)" + gap + R"("External id": )" + n +
                    R"(, "Input Dims": [[1, 2], [], [3, [4]]], "Call stack": "a.py(1): f;b\\c.py(2): g \"x\"")" + gap + "}";
        else
            text += R"("ph": "s", "id": )" + n + R"(, "pid": 77, "tid": 77, "ts": )" + time + R"(, "cat": "ac2g", "name": "ac2g")";
        text += indented ? "\n  }" : "}";
    }
    return text + "\n], \"baseTimeNanoseconds\": 1712880000000000000, \"traceName\": \"t.json\"}\n";
}

}  // namespace faultline::test
