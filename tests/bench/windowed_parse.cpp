#include "tests/bench/windowed_parse.h"

#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace faultline::bench {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kWindow = std::size_t{8} << 20;

struct Event {
    std::int64_t start = 0, duration = 0, correlation = 0, external = 0;
    std::uint32_t name = 0, process = 0, thread = 0;
    std::uint16_t category = 0;
    char phase = 0;
};

class Names {
public:
    std::uint32_t id(std::string_view text) {
        if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
        const auto fresh = static_cast<std::uint32_t>(texts_.size());
        ids_.emplace(texts_.emplace_back(text), fresh);
        return fresh;
    }

private:
    std::deque<std::string> texts_;
    std::unordered_map<std::string_view, std::uint32_t> ids_;
};

/// Decimal microseconds to nanoseconds.
std::int64_t nanoseconds(std::string_view token) {
    std::int64_t value = 0;
    std::size_t i = token.starts_with('-') ? 1 : 0;
    for (; i < token.size() && token[i] >= '0' && token[i] <= '9'; ++i) value = value * 10 + (token[i] - '0');
    int digits = 0;
    if (i < token.size() && token[i] == '.') {
        for (++i; i < token.size() && token[i] >= '0' && token[i] <= '9' && digits < 3; ++i, ++digits)
            value = value * 10 + (token[i] - '0');
    }
    for (; digits < 3; ++digits) value *= 10;
    return token.starts_with('-') ? -value : value;
}

class WindowedParse {
public:
    explicit WindowedParse(gzFile file, int descriptor)
        : file_(file), descriptor_(descriptor), bytes_(2 * kWindow + simdjson::SIMDJSON_PADDING + 16) {}

    bool run() {
        std::size_t have = 0;
        for (;;) {
            const std::int64_t got = fill(bytes_.data() + 1 + have);
            if (got < 0) return false;
            have += static_cast<std::size_t>(got);
            char* const begin = bytes_.data() + 1;
            const std::size_t first = started_ ? 0 : array_start({begin, have});
            if (first == std::string_view::npos) return false;
            const std::size_t end = last_event_end({begin, have}, first);
            if (end == std::string_view::npos) return got == 0 && started_;
            if (!parse_window(begin + first, end - first)) return false;
            std::size_t next = end;
            while (next < have && begin[next] != ',' && begin[next] != ']') ++next;
            if (next >= have || begin[next] == ']') return true;
            ++next;
            std::memmove(begin, begin + next, have - next);
            have -= next;
        }
    }
    [[nodiscard]] std::uint64_t events() const { return events_.size(); }

private:
    std::int64_t fill(char* to) {
        return file_ ? gzread(file_, to, static_cast<unsigned>(kWindow)) : static_cast<std::int64_t>(::read(descriptor_, to, kWindow));
    }
    std::size_t array_start(std::string_view text) {
        const std::size_t key = text.find("\"traceEvents\"");
        const std::size_t bracket = key == std::string_view::npos ? key : text.find('[', key);
        started_ = bracket != std::string_view::npos;
        return started_ ? bracket + 1 : bracket;
    }
    static std::size_t last_event_end(std::string_view text, std::size_t first) {
        std::size_t at = text.rfind("\n  }");
        while (at != std::string_view::npos && at > first && at + 4 < text.size() && text[at + 4] != ',' && text[at + 4] != '\n')
            at = text.rfind("\n  }", at - 1);
        return at == std::string_view::npos || at <= first ? std::string_view::npos : at + 4;
    }
    /// The byte before and the byte behind the window are borrowed for the brackets of an array.
    bool parse_window(char* text, std::size_t size) {
        const char before = text[-1], behind = text[size];
        text[-1] = '[';
        text[size] = ']';
        ondemand::document document;
        ondemand::array array;
        const std::size_t room = static_cast<std::size_t>(bytes_.data() + bytes_.size() - (text - 1));
        if (parser_.iterate(text - 1, size + 2, room).get(document) || document.get_array().get(array)) return false;
        for (auto element : array) {
            ondemand::object object;
            if (!element.get_object().get(object)) read_event(object);
        }
        text[-1] = before;
        text[size] = behind;
        return true;
    }
    static std::string_view key_of(ondemand::field& field) {
        const char* const raw = field.key().raw();
        return {raw, static_cast<std::size_t>(static_cast<const char*>(std::memchr(raw, '"', 64)) - raw)};
    }
    void read_event(ondemand::object& object) {
        Event event;
        for (auto member : object) {
            ondemand::field field;
            if (std::move(member).get(field)) continue;
            read_member(event, key_of(field), field.value());
        }
        events_.push_back(event);
    }
    void read_member(Event& event, std::string_view key, ondemand::value& value) {
        std::string_view text;
        std::int64_t number = 0;
        if (key == "ph") {
            if (!value.get_string().get(text) && !text.empty()) event.phase = text.front();
        } else if (key == "cat") {
            if (!value.get_string().get(text)) event.category = static_cast<std::uint16_t>(categories_.id(text));
        } else if (key == "name") {
            if (!value.get_string().get(text)) event.name = names_.id(text);
        } else if (key == "ts") {
            event.start = nanoseconds(value.raw_json_token());
        } else if (key == "dur") {
            event.duration = nanoseconds(value.raw_json_token());
        } else if (key == "pid") {
            if (!value.get_int64().get(number)) event.process = static_cast<std::uint32_t>(number);
        } else if (key == "tid") {
            if (!value.get_int64().get(number)) event.thread = static_cast<std::uint32_t>(number);
        } else if (key == "id") {
            if (!value.get_int64().get(number)) event.correlation = number;
        } else if (key == "args") {
            read_arguments(event, value);
        }
    }
    static void read_arguments(Event& event, ondemand::value& value) {
        ondemand::object arguments;
        if (value.get_object().get(arguments)) return;
        for (auto member : arguments) {
            ondemand::field field;
            if (std::move(member).get(field)) continue;
            const std::string_view key = key_of(field);
            std::int64_t number = 0;
            if (key == "correlation") {
                if (!field.value().get_int64().get(number)) event.correlation = number;
            } else if (key == "External id") {
                if (!field.value().get_int64().get(number)) event.external = number;
            }
        }
    }

    gzFile file_;
    int descriptor_;
    std::vector<char> bytes_;
    ondemand::parser parser_;
    Names names_, categories_;
    std::vector<Event> events_;
    bool started_ = false;
};

}  // namespace

Result<std::uint64_t> windowed_parse(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    if (descriptor < 0) return fail(ErrorCode::unusable_input, path + " cannot be opened", "Check the name");
    unsigned char magic[2] = {0, 0};
    const bool packed = ::pread(descriptor, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    gzFile file = packed ? gzdopen(descriptor, "rb") : nullptr;
    if (file) gzbuffer(file, 1u << 20);
    WindowedParse parse(file, descriptor);
    const bool done = parse.run();
    if (file)
        gzclose(file);
    else
        ::close(descriptor);
    if (!done) return fail(ErrorCode::unusable_input, path + " is no trace that the limit can be measured on", "Use k1m.json or k5m.json");
    return parse.events();
}

}  // namespace faultline::bench
