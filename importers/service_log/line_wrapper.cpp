#include "importers/service_log/line_wrapper.h"

#include <re2/re2.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "importers/service_log/clean_text.h"
#include "importers/service_log/line_header.h"

namespace faultline::service_log {

namespace {

constexpr std::size_t kDockerCut = 16 * 1024;  // where the json-file driver cuts lines

std::string_view view(re2::StringPiece piece) noexcept { return {piece.data(), piece.size()}; }

/// "(EngineCore_DP0 pid=12) ", "(VllmWorker rank=5 pid=33) ", "(RayWorkerWrapper pid=20, ip=10.0.0.25) ", "(raylet) "
bool match_prefix(std::string_view text, std::string_view& name, std::optional<std::int64_t>& rank, std::optional<std::int64_t>& pid,
                  std::size_t& size) {
    if (text.empty() || text.front() != '(') return false;
    static const RE2 prefix(R"(^\(([\w:.\-]+)?(?: ?rank=(\d{1,6}))?(?: ?pid=(\d{1,10}))?(?:, ip=[\w.:]+)?\) ?)");
    re2::StringPiece input(text.data(), text.size());
    re2::StringPiece found;
    re2::StringPiece rank_text;
    re2::StringPiece pid_text;
    if (!RE2::Consume(&input, prefix, &found, &rank_text, &pid_text)) return false;
    if (rank_text.empty() && pid_text.empty() && view(found) != "raylet" && view(found) != "autoscaler") return false;
    const auto number = [](re2::StringPiece piece) -> std::optional<std::int64_t> {
        std::int64_t value = 0;
        TextScan scan(view(piece));
        return scan.number(1, 10, value) ? std::optional(value) : std::nullopt;
    };
    name = view(found);
    rank = number(rank_text);
    pid = number(pid_text);
    size = text.size() - input.size();
    return true;
}

/// "[rank0]:" or "[default0]:"
bool match_rank(std::string_view text, std::int64_t& rank, std::size_t& size) noexcept {
    TextScan scan(text);
    if ((!scan.eat("[rank") && !scan.eat("[default")) || !scan.number(1, 6, rank) || !scan.eat("]:")) return false;
    (void)scan.eat(' ');
    size = scan.at();
    return true;
}

}  // namespace

bool begins_log_line(std::string_view text) {
    if (read_header(text).sure) return true;
    std::string_view name;
    std::optional<std::int64_t> rank;
    std::optional<std::int64_t> pid;
    std::size_t size = 0;
    std::int64_t number = 0;
    return match_prefix(text, name, rank, pid, size) || match_rank(text, number, size);
}

void LineUnwrapper::take_stamp(Unwrapped& out, const Stamp& stamp) {
    if (out.stamp.kind == Stamp::Kind::absolute) return;
    if (out.stamp.known() && out.stamp.kind != Stamp::Kind::impossible && stamp.kind != Stamp::Kind::absolute) return;
    out.stamp = stamp;
}

Unwrapped LineUnwrapper::unwrap(std::string_view line) {
    Unwrapped out;
    out.rest = line;
    for (int round = 0; round < 8; ++round)
        if (!take_json(out) && !take_container(out) && !take_journal(out) && !take_launcher(out) && !take_prefix(out)) break;
    return out;
}

struct LineUnwrapper::Json {
    simdjson::dom::parser parser;
    simdjson::dom::object object;

    [[nodiscard]] std::string_view text(std::string_view key) const {
        std::string_view value;
        return object[key].get_string().get(value) == simdjson::SUCCESS ? value : std::string_view();
    }
};

LineUnwrapper::LineUnwrapper() : json_(std::make_unique<Json>()) {}
LineUnwrapper::~LineUnwrapper() = default;

bool LineUnwrapper::take_json(Unwrapped& out) {
    if (!out.rest.starts_with('{') || out.rest.size() < 20 || !out.rest.ends_with('}')) return false;
    const auto has = [&](std::string_view key) { return out.rest.find(key) != std::string_view::npos; };
    const bool journal = has("\"__REALTIME_TIMESTAMP\"");
    const bool docker = !journal && has("\"log\"") && has("\"stream\"");
    if (!journal && !docker && !has("\"time") && !has("time\"") && !has("\"ts\"") && !has("timestamp\"")) return false;
    if (json_->parser.parse(out.rest.data(), out.rest.size(), true).get_object().get(json_->object) != simdjson::SUCCESS) return false;
    if (journal) return take_journal_record(out);
    return docker ? take_docker(out) : take_structured(out);
}

/// What JSON wrote with escapes may be colours and bytes that are no text.
void LineUnwrapper::clean_message() {
    (void)repair_utf8(message_);
    remove_ansi(message_);
    while (!message_.empty() && message_.back() == '\n') message_.pop_back();
}

/// {"log":"…\n","stream":"stdout","time":"2026-08-31T17:43:37.5Z"}
bool LineUnwrapper::take_docker(Unwrapped& out) {
    TextScan scan(json_->text("time"));
    Stamp stamp;
    if (!read_full(scan, stamp)) return false;
    take_stamp(out, stamp);
    message_ = json_->text("log");
    // A line that the runtime cut has no line feed at its end.
    out.partial = !message_.empty() && message_.back() != '\n' && message_.size() >= kDockerCut;
    out.key += json_->text("stream");
    clean_message();
    out.rest = message_;
    return true;
}

/// A record of journalctl -o json
bool LineUnwrapper::take_journal_record(Unwrapped& out) {
    std::int64_t micros = 0;
    TextScan scan(json_->text("__REALTIME_TIMESTAMP"));
    constexpr std::int64_t kLatest = 7'000'000'000'000'000;  // in the year 2191
    if (!scan.number(10, 16, micros) || micros > kLatest) return false;
    take_stamp(out, Stamp{Stamp::Kind::absolute, false, false, 0, 0, 0, micros * 1'000, 1'000});
    message_ = json_->text("MESSAGE");
    simdjson::dom::array bytes;
    if (json_->object["MESSAGE"].get_array().get(bytes) == simdjson::SUCCESS)  // a message that is no text comes as numbers
        for (const simdjson::dom::element byte : bytes) {
            std::uint64_t value = 0;
            if (byte.get_uint64().get(value) == simdjson::SUCCESS) message_ += static_cast<char>(value & 0xFFu);
        }
    clean_message();
    out.kernel = json_->text("_TRANSPORT") == "kernel";
    host_ = json_->text("_HOSTNAME");
    unit_ = json_->text("SYSLOG_IDENTIFIER");
    out.host = host_;
    if (!out.kernel) out.process = unit_;
    std::int64_t pid = 0;
    TextScan number(json_->text("_PID"));
    if (!out.kernel && number.number(1, 10, pid)) out.pid = pid;
    constexpr std::array<std::string_view, 8> kPriorities{"CRITICAL", "CRITICAL", "CRITICAL", "ERROR", "WARNING", "INFO", "INFO", "DEBUG"};
    std::int64_t priority = 0;
    TextScan digit(json_->text("PRIORITY"));
    // What a service prints has one priority whatever it says; the kernel's is its own.
    if (out.kernel && digit.digits(1, priority) && priority < 8) out.level = kPriorities[static_cast<std::size_t>(priority)];
    out.key += unit_ + '[' + std::to_string(pid) + ']';
    out.rest = message_;
    return true;
}

/// {"timestamp":"2026-08-23 09:05:37,123","level":"INFO","logger":"x","message":"…"}: a logger that writes JSON. Where there is more in it
/// (SGLang's request records), the record as a whole is the message.
bool LineUnwrapper::take_structured(Unwrapped& out) {
    constexpr std::array<std::string_view, 6> kTimes{"timestamp", "time", "asctime", "@timestamp", "ts", "datetime"};
    constexpr std::array<std::string_view, 3> kLevels{"level", "levelname", "severity"};
    constexpr std::array<std::string_view, 2> kLoggers{"logger", "name"};
    constexpr std::array<std::string_view, 2> kMessages{"message", "msg"};
    const auto in = [](const auto& names, std::string_view key) { return std::find(names.begin(), names.end(), key) != names.end(); };
    Stamp stamp;
    std::optional<std::string_view> message;
    std::string_view level;
    std::string_view logger;
    bool more = false;
    bool request = false;
    for (const auto& [key, value] : json_->object) {
        std::string_view text;
        const bool is_text = value.get_string().get(text) == simdjson::SUCCESS;
        double number = 0;
        if (in(kTimes, key) && is_text) {
            TextScan scan(text);
            if (!read_full(scan, stamp)) stamp = Stamp{};
        } else if (in(kTimes, key) && value.get_double().get(number) == simdjson::SUCCESS && number > 1e9 && number < 7e9) {
            stamp = Stamp{Stamp::Kind::absolute, false, false, 0, 0, 0, std::llround(number * 1e6) * 1'000, 1'000};
        } else if (in(kMessages, key) && is_text) {
            message = text;
        } else if (in(kLevels, key) && is_text) {
            level = text;
        } else if (in(kLoggers, key) && is_text) {
            logger = text;
        } else {
            request |= key == "rid" || key == "event";
            more = true;
        }
    }
    if (!stamp.known() || (!message && !request)) return false;
    take_stamp(out, stamp);
    std::string upper(level);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    out.level = level_of(upper);
    logger_ = logger;
    out.logger = logger_;
    if (more || !message) return false;  // nothing was taken off
    message_ = *message;
    clean_message();
    out.rest = message_;
    return true;
}

/// Kubernetes CRI ("2026-08-31T17:43:37.867962742Z stdout F "), `docker logs -t`, loki's table, compose names, pods
bool LineUnwrapper::take_container(Unwrapped& out) {
    TextScan scan(out.rest);
    Stamp stamp;
    if (is_digit(scan.peek())) {
        std::int64_t epoch = 0;
        if (scan.number(13, 18, epoch) && (scan.blanks() > 0 || scan.eat(',')) && read_full(scan, stamp)) {
            (void)scan.eat(',');
        } else {
            scan.go(0);
            const std::size_t digits = std::min(out.rest.find_first_not_of("0123456789"), out.rest.size());
            if (digits == 19) {
                scan.go(19);
                if (scan.blanks() == 0 || !read_full(scan, stamp)) return false;
            } else if (out.rest.size() < 12 || out.rest[10] != 'T' || !read_full(scan, stamp) || stamp.kind != Stamp::Kind::absolute) {
                return false;
            }
        }
        const std::size_t behind = scan.at();
        if (scan.eat(" stdout ") || scan.eat(" stderr ")) {
            const char tag = scan.peek();
            if ((tag == 'F' || tag == 'P') && out.rest.size() > scan.at()) {
                out.partial = tag == 'P';
                out.key += out.rest.substr(behind, 7);
                scan.go(scan.at() + 1);
                (void)scan.eat(' ');
                take_stamp(out, stamp);
                out.rest = scan.rest();
                return true;
            }
        }
        scan.go(behind);
        if (!scan.eat(' ') && !scan.eat('\t') && !scan.done()) return false;
        if (!stamps_ && !begins_log_line(scan.rest())) return false;
        stamps_ = true;
        take_stamp(out, stamp);
        out.rest = scan.rest();
        return true;
    }
    if (scan.eat("[pod/")) {
        const std::string_view pod = scan.until("]");
        if (!scan.eat("] ")) return false;
        out.key += pod;
        out.rest = scan.rest();
        return true;
    }
    return false;
}

/// "Aug 17 18:42:18 host unit[8052]: ", "2026-08-17T18:42:18+0800 host kernel: ", "<6>"
bool LineUnwrapper::take_journal(Unwrapped& out) {
    TextScan scan(out.rest);
    Stamp stamp;
    std::int64_t priority = 0;
    if (scan.eat('<') && scan.number(1, 3, priority) && scan.eat('>') &&
        (scan.peek() == '[' || is_letter(scan.peek()) || is_digit(scan.peek()))) {
        out.rest = scan.rest();
        return true;
    }
    scan.go(0);
    const bool iso = out.rest.size() > 19 && out.rest[10] == 'T';
    if (!(iso && read_full(scan, stamp)) && !read_syslog(scan, stamp)) return false;
    if (scan.blanks() == 0) return false;
    const std::string_view host = scan.until(" \t");
    if (host.empty() || host.size() > 255 || scan.blanks() == 0) return false;
    static const RE2 unit(R"(^([\w.@/()\-\\]+(?: \([\w\-]+\))?)(?:\[(\d{1,10})\])?: ?)");
    re2::StringPiece input(scan.rest().data(), scan.rest().size());
    re2::StringPiece name;
    re2::StringPiece pid;
    // "last message repeated 3 times" has no unit.
    if (!RE2::Consume(&input, unit, &name, &pid) && !journal_) return false;
    journal_ = true;
    take_stamp(out, stamp);
    out.host = host;
    out.kernel = view(name) == "kernel";
    if (!out.kernel) out.process = view(name);
    std::int64_t number = 0;
    TextScan digits(view(pid));
    if (!out.kernel && digits.number(1, 10, number)) out.pid = number;
    out.key.append(view(name)).append("[").append(view(pid)).append("]");
    out.rest = view(input);
    return true;
}

/// "> ", "name-1  | ", "service  / ", "0: ", "2025-11-04 10:08:01.174646 master-0 >> ", "[default0]:"
bool LineUnwrapper::take_launcher(Unwrapped& out) {
    const std::string_view text = out.rest;
    if (text == ">" && quotes_) {
        out.rest = {};
        return true;
    }
    if (text.starts_with("> ") && (quotes_ || begins_log_line(text.substr(2)))) {
        quotes_ = true;
        out.rest = text.substr(2);
        return true;
    }
    std::int64_t number = 0;
    std::size_t size = 0;
    if (match_rank(text, number, size)) {
        out.rank = number;
        out.key.append(text.substr(0, text.find(':')));
        out.rest = text.substr(size);
        return true;
    }
    TextScan scan(text);
    Stamp stamp;
    if (is_digit(scan.peek())) {
        if (scan.number(1, 5, number) && (scan.eat(": ") || (tasks_ && scan.eat(':')))) {
            if (!tasks_ && !begins_log_line(scan.rest())) return false;
            tasks_ = true;
            out.rank = number;
            out.key += std::to_string(number) + ':';
            out.rest = scan.rest();
            return true;
        }
        scan.go(0);
        if (read_full(scan, stamp) && scan.blanks() > 0) {
            const std::string_view host = scan.until(" \t");
            if (!scan.eat(" >> ") && !(scan.eat(" >>") && scan.done())) return false;
            take_stamp(out, stamp);
            out.host = host;
            out.key += host;
            out.rest = scan.rest();
            return true;
        }
        scan.go(0);
    }
    static const RE2 name(R"(^([A-Za-z0-9][\w.\-]*)? +[|/] ?)");
    re2::StringPiece input(text.data(), text.size());
    re2::StringPiece service;
    if ((text.starts_with(' ') || is_letter(scan.peek())) && RE2::Consume(&input, name, &service) &&
        (names_ || begins_log_line(view(input)))) {
        names_ = true;
        out.key += view(service);
        if (!service.empty()) out.process = view(service);
        out.rest = view(input);
        return true;
    }
    return false;
}

bool LineUnwrapper::take_prefix(Unwrapped& out) {
    std::string_view name;
    std::optional<std::int64_t> rank;
    std::optional<std::int64_t> pid;
    std::size_t size = 0;
    if (!match_prefix(out.rest, name, rank, pid, size)) return false;
    out.process = name;
    if (pid) out.pid = pid;
    if (!rank) rank = parallel_ranks(name).tp;
    if (rank) out.rank = rank;
    out.key.append(out.rest.substr(0, size));
    out.rest = out.rest.substr(size);
    return true;
}

}  // namespace faultline::service_log
