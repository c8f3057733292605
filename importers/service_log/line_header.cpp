#include "importers/service_log/line_header.h"

#include <re2/re2.h>

#include <algorithm>

namespace faultline::service_log {

namespace {

bool is_word(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == ':' || c == '<' || c == '>';
    });
}

/// "file.py:123": a word, a colon and a number.
bool is_place(std::string_view text) noexcept {
    const std::size_t colon = text.rfind(':');
    return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() && is_word(text) &&
           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(), is_digit);
}

std::string_view upper_word(TextScan& scan) noexcept {
    const std::size_t from = scan.at();
    const std::string_view rest = scan.rest();
    std::size_t size = 0;
    while (size < rest.size() && is_upper(rest[size])) ++size;
    scan.go(from + size);
    return rest.substr(0, size);
}

/// Takes a level word if one is next and no letter or digit follows it.
bool eat_level(TextScan& scan, Header& header) noexcept {
    const std::size_t from = scan.at();
    const std::string_view level = level_of(upper_word(scan));
    const char next = scan.peek();
    if (level.empty() || is_letter(next) || is_digit(next) || next == '_') {
        scan.go(from);
        return false;
    }
    header.level = level;
    return true;
}

/// "[file.py:12] " or "file.py:12] " behind a stamp; a logger without line number ("[file.py] ") too.
bool eat_place(TextScan& scan, Header& header) noexcept {
    const std::size_t from = scan.at();
    (void)scan.eat('[');
    const std::string_view place = scan.until("] \t");
    if (!place.empty() && place.size() < 200 && is_word(place) && place.find_first_of(".:/") != std::string_view::npos && scan.eat(']')) {
        header.logger = place;
        (void)scan.eat(' ');
        return true;
    }
    scan.go(from);
    return false;
}

bool done(Header& header, Shape shape, const TextScan& scan, bool sure) noexcept {
    header.shape = shape;
    header.size = scan.at();
    header.sure = sure;
    return true;
}

/// "INFO 07-30 17:42:47 [core.py:58] msg", "INFO 02-25 11:11:31 metrics.py:455] msg"
bool read_vllm(std::string_view line, Header& header) noexcept {
    TextScan scan(line);
    if (!eat_level(scan, header) || scan.blanks() == 0 || !read_month_day(scan, header.stamp)) return false;
    if (scan.blanks() == 0 && !scan.done()) return false;
    (void)eat_place(scan, header);
    return done(header, Shape::vllm, scan, true);
}

/// "INFO:     msg" of uvicorn, "ERROR:torch.distributed.run:msg" of Python's basic configuration
bool read_level(std::string_view line, Header& header) noexcept {
    TextScan scan(line);
    if (!eat_level(scan, header) || !scan.eat(':')) return false;
    const std::size_t blanks = scan.blanks();
    if (blanks == 0) {
        const std::size_t from = scan.at();
        const std::string_view logger = scan.until(": \t");
        if (logger.empty() || !is_word(logger) || !scan.eat(':'))
            scan.go(from);
        else
            header.logger = logger;
    }
    return done(header, Shape::level, scan, blanks > 3 || !header.logger.empty());
}

/// What may follow a stamp in brackets: "INFO:     ", "WARNING server_args.py:1929: ", "LMCache INFO: ", "[9955] [INFO] "
void read_bracket_tail(TextScan& scan, Header& header) noexcept {
    std::size_t from = scan.at();
    while (scan.peek() == '[') {  // gunicorn, DeepSpeed
        scan.go(scan.at() + 1);
        const std::string_view inside = scan.until("]");
        if (inside.empty() || !scan.eat(']')) break;
        const std::string_view word = inside.size() == 1 ? level_of(inside.front()) : level_of(inside);
        std::int64_t pid = 0;
        TextScan number(inside);
        if (!word.empty())
            header.level = word;
        else if (number.number(1, 9, pid) && number.done())
            header.pid = pid;
        else if (inside == "TRT-LLM" || inside == "TensorRT-LLM")
            header.logger = inside;
        else if (is_place(inside.substr(0, inside.rfind(':'))) || is_place(inside) || (is_word(inside) && scan.peek() == '['))
            header.logger = inside;  // "[__main__][INFO]" too
        else
            break;
        (void)scan.blanks();
        from = scan.at();
    }
    scan.go(from);
    const std::string_view level = header.level;
    if (eat_level(scan, header)) {
        if (scan.eat(':')) {
            (void)scan.blanks();
            return;
        }
        if (scan.blanks() > 0) {
            from = scan.at();
            const std::string_view place = scan.until(" \t");
            if (place.size() > 1 && place.back() == ':' && is_word(place.substr(0, place.size() - 1))) {
                header.logger = place.substr(0, place.size() - 1);
                (void)scan.blanks();
                return;
            }
            scan.go(from);
            return;
        }
        header.level = level;
        scan.go(from);
        return;
    }
    if (scan.eat("LMCache ") && eat_level(scan, header) && scan.eat(':')) {
        header.logger = "LMCache";
        (void)scan.blanks();
        return;
    }
    header.level = level;
    scan.go(from);
}

/// Words such as "TP0 EP0" or a level up to the closing bracket.
bool read_bracket_words(TextScan& scan, Header& header, std::string_view line) noexcept {
    while (!scan.eat(']')) {
        if (scan.blanks() == 0) return false;
        const std::size_t word_from = scan.at();
        const std::string_view word = scan.until(" \t]");
        if (!level_of(word).empty()) {
            header.level = level_of(word);
            continue;
        }
        const std::size_t digit = word.find_first_of("0123456789");
        const bool rank =
            digit != std::string_view::npos && digit > 0 &&
            std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(digit), [](char c) { return is_upper(c) || c == '_'; }) &&
            std::all_of(word.begin() + static_cast<std::ptrdiff_t>(digit), word.end(), is_digit);
        if (!rank) return false;
        const std::size_t begin = header.ranks.empty() ? word_from : static_cast<std::size_t>(header.ranks.data() - line.data());
        header.ranks = line.substr(begin, scan.at() - begin);
    }
    return true;
}

bool read_nccl(std::string_view line, std::size_t at, Header& header) {
    constexpr std::size_t kLongestHeader = 512;
    if (line.substr(at, kLongestHeader).find("NCCL") == std::string_view::npos) return false;
    static const RE2 shape(R"(^([A-Za-z0-9][\w.\-]*):(\d{1,9}):(\d{1,9}) \[(-?\d+)\] (?:([\w/.]+:\d+) )?(?:\([^()]*\) )?NCCL (\w+) ?)");
    re2::StringPiece input(line.data() + at, line.size() - at);
    const re2::StringPiece whole = input;
    re2::StringPiece host;
    re2::StringPiece place;
    re2::StringPiece level;
    std::int64_t pid = 0;
    if (!RE2::Consume(&input, shape, &host, &pid, nullptr, nullptr, &place, &level)) return false;
    header.host = {host.data(), host.size()};
    header.pid = pid;
    header.logger = place.empty() ? std::string_view("NCCL") : std::string_view(place.data(), place.size());
    const std::string_view word(level.data(), level.size());
    header.level = word == "CALL" ? "DEBUG" : word == "ABORT" ? "CRITICAL" : level_of(word);
    TextScan scan(line, at + whole.size() - input.size());
    return done(header, Shape::nccl, scan, true);
}

/// "[2026-08-23 09:05:37 TP0 EP0] msg", "[16:43:29 TP0] msg", "[2026-08-23 09:05:37,139][name][INFO] - msg", "[Sun Feb 23 16:24:18 2025] msg", "[   12.345678] msg"
bool read_bracket(std::string_view line, Header& header) {
    TextScan scan(line, 1);
    if (read_ctime(scan, header.stamp) || read_uptime(scan, header.stamp)) {
        if (!scan.eat(']') || (!scan.eat(' ') && !scan.done())) return false;
        header.logger = "kernel";
        return done(header, Shape::kernel, scan, true);
    }
    if (!read_full(scan, header.stamp) && !read_month_day(scan, header.stamp) && !read_month_first(scan, header.stamp) &&
        !read_time(scan, header.stamp))
        return false;
    if (!read_bracket_words(scan, header, line) || (scan.blanks() == 0 && !scan.done() && scan.peek() != '[')) return false;
    if (read_nccl(line, scan.at(), header)) return true;
    read_bracket_tail(scan, header);
    if (!header.level.empty() && scan.eat("- ")) (void)scan.blanks();  // Hydra
    return done(header, Shape::bracket, scan, header.stamp.has_date || header.stamp.kind == Stamp::Kind::absolute || !header.ranks.empty());
}

/// "[E820 11:47:24.069865760 ProcessGroupNCCL.cpp:607] msg", "E0820 11:47:24.069865 12345 file.cc:607] msg", "[E File.cpp:563] msg"
bool read_glog_line(std::string_view line, Header& header) noexcept {
    TextScan scan(line);
    const bool bracket = scan.eat('[');
    const std::string_view level = level_of(scan.peek());
    if (level.empty()) return false;
    scan.go(scan.at() + 1);
    const bool timed = read_glog(scan, header.stamp);
    if (!timed && !bracket) return false;
    if (scan.blanks() == 0) return false;
    const std::size_t from = scan.at();
    std::int64_t number = 0;
    const bool numbered = timed && scan.number(1, 10, number) && scan.blanks() > 0;
    if (!numbered) scan.go(from);
    const std::string_view place = scan.until("] \t");
    if (!is_place(place) || !scan.eat(']')) return false;
    (void)scan.eat(' ');
    header.level = level;
    header.logger = place;
    // Python writes its process there, C++ its thread.
    if (numbered && place.find(".py:") != std::string_view::npos) header.pid = number;
    return done(header, Shape::glog, scan, true);
}

/// "[Gloo] msg", "[TensorRT-LLM][INFO] msg", "[TRT-LLM] [I] msg"
bool read_component(std::string_view line, Header& header) noexcept {
    TextScan scan(line, 1);
    const std::string_view name = scan.until("] ");
    if (name.size() < 2 || name.size() > 40 || !is_letter(name.front()) || !is_word(name) || !scan.eat(']')) return false;
    const bool levelled = name == "TRT-LLM" || name == "TensorRT-LLM";
    if (!scan.eat(' ') && !levelled) return false;
    if (levelled) read_bracket_tail(scan, header);
    header.logger = name;
    return done(header, Shape::component, scan, levelled && !header.level.empty());
}

/// Fields between " - " or " | ": a level and up to three names, the rest is the message.
void read_fields(TextScan& scan, Header& header, std::string_view mark) noexcept {
    for (int field = 0; field < 4; ++field) {
        const std::string_view rest = scan.rest();
        const std::size_t end = rest.find(mark);
        if (end == std::string_view::npos || end > 120) return;
        std::string_view word = rest.substr(0, end);
        while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
        while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
        if (!level_of(word).empty() && header.level.empty())
            header.level = level_of(word);
        else if (is_word(word))
            header.logger = word;
        else
            return;
        scan.go(scan.at() + end + mark.size());
    }
}

/// "  INFO target::module: msg"; the time of such a line is UTC, as its writers have it by default.
bool read_rust_tail(TextScan& scan, Header& header) noexcept {
    const std::size_t from = scan.at();
    (void)scan.blanks();
    if (eat_level(scan, header) && scan.blanks() > 0) {
        const std::string_view from_target = scan.rest();
        const std::string_view target = scan.until(" \t");
        if (target.size() > 3 && target.back() == ':' && target.find("::") != std::string_view::npos && is_word(target)) {
            header.logger = target.substr(0, target.size() - 1);
            (void)scan.blanks();
            const std::size_t message = scan.at();
            const std::string_view place = scan.until(" \t");
            if (place.ends_with(':') && is_place(place.substr(0, place.size() - 1)) && scan.eat(' '))  // "module: src/server.rs:261: "
                header.logger = from_target.substr(0, static_cast<std::size_t>(place.data() - from_target.data()) + place.size() - 1);
            else
                scan.go(message);
            return true;
        }
    }
    header.level = {};
    scan.go(from);
    return false;
}

void make_utc(Stamp& stamp) noexcept {
    if (stamp.kind != Stamp::Kind::local || !stamp.has_year) return;
    stamp.kind = Stamp::Kind::absolute;
    stamp.ns += day_ns(stamp.year, stamp.month, stamp.day);
}

/// "2026-08-23 09:05:37.123 …" and what can follow it
bool read_plain(std::string_view line, Header& header) {
    TextScan scan(line);
    if (!read_full(scan, header.stamp)) return false;
    const std::size_t from = scan.at();
    if (scan.eat(": ") && !level_of(scan.peek()).empty()) {  // TensorFlow: "…: I path/file.cc:153] "
        header.level = level_of(scan.peek());
        scan.go(scan.at() + 1);
        if (scan.eat(' ') && eat_place(scan, header)) return done(header, Shape::plain, scan, true);
    }
    header.level = {};
    scan.go(from);
    if (read_rust_tail(scan, header)) {
        make_utc(header.stamp);
        return done(header, Shape::rust, scan, true);
    }
    if (scan.eat(" - ")) {
        read_fields(scan, header, " - ");
        return done(header, Shape::plain, scan, !header.level.empty());
    }
    if (scan.eat(" | ")) {
        read_fields(scan, header, "| ");
        if (!header.level.empty() && scan.rest().find(" - ") < 120) read_fields(scan, header, " - ");  // loguru
        return done(header, Shape::plain, scan, !header.level.empty());
    }
    (void)scan.eat(':');
    if (scan.blanks() == 0 && !scan.done()) return false;
    if (read_nccl(line, scan.at(), header)) return true;
    read_bracket_tail(scan, header);
    return done(header, Shape::plain, scan, !header.level.empty());
}

/// "19:14:43  NVRM: msg"
bool read_time_only(std::string_view line, Header& header) noexcept {
    TextScan scan(line);
    if (!read_time(scan, header.stamp) || header.stamp.resolution > kSecond) return false;
    (void)scan.eat(':');
    const std::size_t blanks = scan.blanks();
    if (blanks == 0) return false;
    const bool kernel = scan.rest().starts_with("NVRM:") || scan.rest().starts_with("Xid ");
    if (kernel)
        header.logger = "kernel";
    else
        read_bracket_tail(scan, header);
    if (!kernel && header.level.empty() && blanks < 2) return false;  // "12:30:00 is noon"
    return done(header, kernel ? Shape::kernel : Shape::plain, scan, kernel || !header.level.empty());
}

/// Tries one shape; what it left behind when it failed is wiped.
template <class Read>
bool attempt(Header& header, Read read) {
    if (read(header)) return true;
    header = Header{};
    return false;
}

}  // namespace

Header read_header(std::string_view line) {
    Header header;
    if (line.size() < 3) return header;
    const char first = line.front();
    if (first == '[') {
        if (attempt(header, [&](Header& h) { return read_bracket(line, h); })) return header;
        if (attempt(header, [&](Header& h) { return read_glog_line(line, h); })) return header;
        if (attempt(header, [&](Header& h) { return read_component(line, h); })) return header;
        return header;
    }
    if (is_digit(first)) {
        if (attempt(header, [&](Header& h) { return read_plain(line, h); })) return header;
        if (attempt(header, [&](Header& h) { return read_time_only(line, h); })) return header;
    }
    if (is_upper(first)) {
        if (attempt(header, [&](Header& h) { return read_vllm(line, h); })) return header;
        if (attempt(header, [&](Header& h) { return read_level(line, h); })) return header;
        if (attempt(header, [&](Header& h) { return read_glog_line(line, h); })) return header;
    }
    if (line.starts_with("NVRM: ")) {
        header.logger = "kernel";
        header.shape = Shape::kernel;
        header.sure = line.starts_with("NVRM: Xid");
        return header;
    }
    if (is_letter(first) || is_digit(first)) (void)attempt(header, [&](Header& h) { return read_nccl(line, 0, h); });
    return header;
}

}  // namespace faultline::service_log
