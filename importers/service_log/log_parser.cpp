#include "importers/service_log/log_parser.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "importers/service_log/clean_text.h"

namespace faultline::service_log {

namespace {

constexpr std::uint64_t kMaxGap = 200;  // lines of others between two of one message

constexpr std::string_view kTraceback = "Traceback (most recent call last):";

std::string_view trimmed_end(std::string_view text) noexcept {
    while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

template <std::size_t N>
bool begins_with_any(std::string_view text, const std::array<std::string_view, N>& beginnings) noexcept {
    return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return text.starts_with(b); });
}

/// Between two tracebacks of one message.
bool chains_exceptions(std::string_view text) noexcept {
    return text.starts_with("During handling of the above exception") || text.starts_with("The above exception was the direct cause");
}

/// What Python, torch and the C++ runtime print behind an exception, at the margin.
bool follows_exception(std::string_view text) noexcept {
    static constexpr std::array<std::string_view, 15> kBeginnings{"CUDA kernel errors might",
                                                                  "For debugging consider",
                                                                  "Compile with `TORCH_USE_CUDA_DSA`",
                                                                  "Search for `cuda",
                                                                  "Device-side assertion",
                                                                  "Exception raised from",
                                                                  "frame #",
                                                                  "what():",
                                                                  "=====",
                                                                  "-----",
                                                                  "Root Cause",
                                                                  "Failures:",
                                                                  "ncclUnhandledCudaError",
                                                                  "ncclSystemError",
                                                                  "Last error:"};
    return chains_exceptions(text) || begins_with_any(text, kBeginnings);
}

/// "torch.OutOfMemoryError: CUDA out of memory.", "KeyboardInterrupt"
bool is_exception(std::string_view text) {
    static const RE2 shape(R"(^[A-Za-z_][\w.]*(?::? ?$|: ))");
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), shape);
}

/// The lines at the margin of a py-spy or faulthandler dump.
bool is_dump_line(std::string_view text) {
    static const RE2 shape(R"(^(?:(?:Current t|T)hread (?:0x)?[0-9A-Fa-f]+ (?:\(|\[)|Fatal Python error: |Extension modules: ))");
    return (text.starts_with('T') || text.starts_with('C') || text.starts_with('F') || text.starts_with('E')) &&
           RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), shape);
}

bool is_dump_title(std::string_view text) noexcept {
    TextScan scan(text);
    std::int64_t pid = 0;
    return text.starts_with("Python v") || (scan.eat("Process ") && scan.number(1, 10, pid) && scan.eat(':'));
}

}  // namespace

void LogParser::line(std::string_view raw, std::uint64_t offset, bool cut) {
    ++lines_;
    clean_.assign(raw);
    const bool repaired = repair_utf8(clean_);
    remove_ansi(clean_);
    Unwrapped from = unwrapper_.unwrap(clean_);
    const auto waiting = partial_.find(from.key);
    if (waiting == partial_.end() && !from.partial) return take_line(from, offset, repaired, cut);

    if (waiting == partial_.end()) {
        Partial part;
        part.text = from.rest;
        part.process = from.process;
        part.host = from.host;
        part.offset = offset;
        part.repaired = repaired;
        part.cut = cut;
        std::string key = from.key;
        part.from = std::move(from);
        part.from.logger = {};  // it lies in the unwrapper
        partial_.emplace(std::move(key), std::move(part));
        return;
    }
    Partial& part = waiting->second;
    part.repaired |= repaired;
    if (part.text.size() < kMaxMessage)
        part.text += from.rest;
    else
        part.cut = true;
    if (from.partial) return;
    const Partial whole = std::move(part);
    partial_.erase(waiting);
    Unwrapped joined = whole.from;
    joined.rest = whole.text;
    joined.process = whole.process;
    joined.host = whole.host;
    take_line(joined, whole.offset, whole.repaired, whole.cut);
}

void LogParser::finish() {
    std::vector<Partial> left;
    for (auto& [key, part] : partial_) left.push_back(std::move(part));
    partial_.clear();
    std::sort(left.begin(), left.end(), [](const Partial& a, const Partial& b) { return a.offset < b.offset; });
    for (Partial& part : left) {
        Unwrapped from = part.from;
        from.rest = part.text;
        from.process = part.process;
        from.host = part.host;
        take_line(from, part.offset, part.repaired, part.cut);
    }
}

void LogParser::take_line(const Unwrapped& from, std::uint64_t offset, bool repaired, bool cut) {
    std::string_view rest = from.rest.substr(0, from.rest.find_last_not_of(" \t\r\n\f\v") + 1);
    if (rest.empty()) {
        ++blank_lines_;
        if (Open* open = open_of(from.key)) open->blank_before = true;
        return;
    }
    bool same_record = false;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
        const std::string_view text = trimmed_end(rest.substr(0, end));
        const bool last = end >= rest.size();
        const bool feed = !last && rest[end] == '\n';
        rest = last ? std::string_view() : rest.substr(end + 1);
        if (text.empty()) continue;
        take_piece({text, &from, offset, last && from.rest.back() == '\r', repaired, cut && last, same_record});
        same_record |= feed;
    }
}

void LogParser::take_piece(const Piece& piece) {
    Piece rest = piece;
    while (!rest.text.empty()) {
        const std::optional<std::size_t> bar = progress_end(rest.text);
        if (!bar || (read_header(rest.text).stamp.known())) return take_text(rest);
        Piece progress = rest;
        progress.text = rest.text.substr(0, *bar);
        progress.cut = rest.cut && *bar == rest.text.size();
        take_progress(progress);
        rest.text.remove_prefix(*bar);
        while (!rest.text.empty() && is_blank(rest.text.front())) rest.text.remove_prefix(1);
    }
}

void LogParser::take_progress(const Piece& piece) {
    const std::string label = progress_label(piece.text);
    Open* open = open_of(piece.from->key);
    if (open != nullptr && !label.empty() && open->progress == label) {
        LogMessage& message = messages_[open->message];
        message.text.replace(open->last_state, std::string::npos, piece.text);
        message.repaired |= piece.repaired;
        message.cut |= piece.cut;
        open->last_line = lines_;
        ++folded_states_;
        if (folded_at_.size() < kMaxFoldedAt) folded_at_.push_back(piece.offset);
        return;
    }
    begin(piece, Header{});
    open_[piece.from->key].progress = label;
}

void LogParser::take_text(const Piece& piece) {
    Header header = read_header(piece.text);
    Open* open = open_of(piece.from->key);
    if (header.shape == Shape::none) {
        // A header of vLLM may stand behind what the user put first (VLLM_LOGGING_PREFIX) or what was printed without a line feed.
        static const RE2 inner(
            R"(^[^'"]{1,120}?\b((?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d(?::\d\d)?(?:[.,]\d+)? \[?[\w./]+:\d+\] ))");
        re2::StringPiece found;
        if (piece.text.size() > 20 && RE2::PartialMatch(re2::StringPiece(piece.text.data(), piece.text.size()), inner, &found)) {
            const auto at = static_cast<std::size_t>(found.data() - piece.text.data());
            header = read_header(piece.text.substr(at));
            begin(piece, header);
            LogMessage& message = messages_.back();
            message.text = piece.text.substr(0, at);
            message.text += piece.text.substr(at + header.size);
            return;
        }
        if (open != nullptr && (piece.same_record || goes_on(*open, piece.text))) return append(*open, piece, piece.text);
        return begin(piece, header);
    }
    if (open != nullptr && repeats(*open, header, piece))
        return append(*open, piece, piece.text.substr(std::min(header.size, piece.text.size())));
    begin(piece, header);
}

LogParser::Open* LogParser::open_of(const std::string& key) {
    const auto it = open_.find(key);
    return it == open_.end() || lines_ - it->second.last_line > kMaxGap ? nullptr : &it->second;
}

void LogParser::begin(const Piece& piece, const Header& header) {
    const Unwrapped& from = *piece.from;
    LogMessage& m = messages_.emplace_back();
    m.offset = piece.offset;
    m.repaired = piece.repaired;
    m.cut = piece.cut;
    m.shape = from.kernel && header.shape == Shape::none ? Shape::kernel : header.shape;
    m.level = header.level.empty() ? from.level : header.level;
    m.logger = from.kernel ? std::string_view("kernel") : header.logger.empty() ? from.logger : header.logger;
    m.text = piece.text.substr(std::min(header.size, piece.text.size()));
    m.process = from.process;
    if (!header.ranks.empty() && !from.pid) {
        if (!m.process.empty()) m.process += ' ';
        m.process += header.ranks;
    }
    m.host = from.host.empty() ? header.host : from.host;
    m.pid = header.pid ? header.pid : from.pid;
    const ParallelRanks ranks = parallel_ranks(header.ranks.empty() ? from.process : header.ranks);
    m.rank = from.rank ? from.rank : ranks.tp;
    m.pipeline_rank = ranks.pp;
    if (header.stamp.kind == Stamp::Kind::absolute || !from.stamp.known() || from.stamp.kind == Stamp::Kind::impossible ||
        (from.stamp.kind == Stamp::Kind::local && header.stamp.kind == Stamp::Kind::local && header.stamp.has_date)) {
        m.stamp = header.stamp;
    } else {
        m.stamp = from.stamp;
        if (from.stamp.kind == Stamp::Kind::absolute && header.stamp.kind == Stamp::Kind::local) m.local = header.stamp;
    }
    Open open;
    open.message = messages_.size() - 1;
    open.last_line = lines_;
    open.ended_by_return = piece.ended_by_return;
    follow(open, m.text);
    open_[from.key] = std::move(open);
}

void LogParser::append(Open& open, const Piece& piece, std::string_view text) {
    LogMessage& m = messages_[open.message];
    if (m.text.size() + text.size() > kMaxMessage) {
        LogMessage more = m;
        more.text.assign(text);
        more.offset = piece.offset;
        more.lines = 1;
        more.repaired = piece.repaired;
        more.cut = piece.cut;
        open.message = messages_.size();
        messages_.push_back(std::move(more));
    } else {
        if (!m.text.empty()) m.text += '\n';
        m.text += text;
        ++m.lines;
        m.repaired |= piece.repaired;
        m.cut |= piece.cut;
    }
    open.last_line = lines_;
    open.ended_by_return = piece.ended_by_return;
    open.progress.clear();
    follow(open, text);
    open.blank_before = false;
}

/// Whether a line with a header of its own is one more line of the message before it.
bool LogParser::repeats(const Open& open, const Header& header, const Piece& piece) const {
    const LogMessage& m = messages_[open.message];
    if (header.shape != m.shape || header.level != m.level || header.logger != m.logger) return false;
    if (header.shape == Shape::kernel || header.shape == Shape::vllm || header.shape == Shape::plain || header.shape == Shape::bracket) {
        const Stamp& written = m.local.known() ? m.local : m.stamp;
        if (!(header.stamp == written)) return false;
    } else {
        return false;
    }
    const std::string_view text = piece.text.substr(std::min(header.size, piece.text.size()));
    if (header.shape == Shape::vllm && open.ended_by_return) return true;
    if (header.shape == Shape::vllm || header.shape == Shape::kernel)
        return goes_on(open, text) || (text.empty() && header.shape == Shape::vllm);
    return false;
}

bool LogParser::takes_traceback(const Open& open) const {
    if (open.inside == Inside::chained) return true;
    if (open.inside == Inside::behind_exception) return false;  // that one has ended
    const LogMessage& m = messages_[open.message];
    if (m.level == "ERROR" || m.level == "CRITICAL" || m.level == "WARNING") return true;
    constexpr std::size_t kTitle = 4096;
    return trimmed_end(m.text).ends_with(':') || std::string_view(m.text).substr(0, kTitle).find("xception") != std::string_view::npos;
}

bool LogParser::goes_on(const Open& open, std::string_view text) const {
    if (!open.progress.empty()) return false;
    if (text.empty()) return false;
    if (is_blank(text.front())) return true;
    if (text.starts_with(kTraceback)) return takes_traceback(open);
    switch (open.inside) {
        case Inside::traceback: return is_exception(text) || follows_exception(text);
        case Inside::behind_exception:
            if (follows_exception(text)) return true;
            return open.rules_left > 0 && !open.blank_before && lines_ < open.block_until;
        case Inside::chained: return false;
        case Inside::dump: return is_dump_line(text) || is_dump_title(text);
        case Inside::nothing: break;
    }
    return is_dump_line(text) || text.starts_with("frame #") || text.starts_with("Exception raised from ");
}

/// Keeps in mind what the last line of a message was part of.
void LogParser::follow(Open& open, std::string_view text) const {
    if (text.empty()) return;
    if (text.find(kTraceback) != std::string_view::npos) {
        open.inside = Inside::traceback;
    } else if (chains_exceptions(text)) {
        open.inside = Inside::chained;
    } else if (is_blank(text.front())) {
        if (open.inside == Inside::behind_exception && text.starts_with("  File \"")) open.inside = Inside::traceback;
    } else if (is_dump_line(text) || text.find("yspy dump") != std::string_view::npos ||
               text.find("py-spy dump") != std::string_view::npos) {
        open.inside = Inside::dump;
    } else if (open.inside == Inside::traceback && is_exception(text)) {
        open.inside = Inside::behind_exception;
        if (text.find("ChildFailedError") != std::string_view::npos) {
            open.rules_left = 2;
            open.block_until = lines_ + kMaxGap;
        }
    } else if (text.starts_with("==========") && open.rules_left > 0) {
        --open.rules_left;
    }
}

}  // namespace faultline::service_log
