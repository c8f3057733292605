#include "importers/service_log/line_reader.h"

#include <algorithm>

namespace faultline::service_log {

Result<bool> LineReader::fill(std::stop_token stop) {
    const Result<bool> more = file_.next(block_, stop);
    at_ = 0;
    if (!more || !*more) {
        done_ = true;
        block_.size = 0;
        return more;
    }
    const std::string_view text(block_.data, block_.size);
    end_ = block_.offset + block_.size;
    if (block_.offset == 0) {
        if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;
        returns_end_ = text.find('\n') == std::string_view::npos && text.find('\r') != std::string_view::npos;
    }
    return true;
}

void LineReader::pass_zeros() {
    while (at_ < block_.size && block_.data[at_] == '\0') {
        ++at_;
        ++zeros_;
    }
}

/// Where the line ends in `rest`; its size where it goes on.
std::size_t LineReader::end_of(std::string_view rest) const {
    // Behind what was lost of a line every end is taken, so that no further record is lost with it.
    return std::min(returns_end_ || kept_lost_ > 0 ? rest.find_first_of("\r\n") : rest.find('\n'), rest.size());
}

void LineReader::give(Line& line, std::string_view text, std::uint64_t offset, std::uint64_t lost) {
    line = {text, offset, lost, zeros_};
    zeros_ = 0;
}

/// Adds to the line that is kept. True where a line is given instead: its beginning up to the last carriage return.
bool LineReader::keep(std::string_view part, bool ended, Line& line) {
    const std::size_t room = kMaxLine - std::min(kMaxLine, kept_.size());
    kept_.append(part.substr(0, room));
    at_ += std::min(part.size(), room);
    if (part.size() > room) {
        const std::size_t last = kept_lost_ > 0 ? std::string::npos : kept_.rfind('\r');
        if (last != std::string::npos && last > 0) {
            given_.assign(kept_, 0, last);
            kept_.erase(0, last + 1);
            give(line, given_, kept_offset_, 0);
            kept_offset_ += last + 1;
            return true;
        }
        // The byte behind the room may begin a new line: it is looked at again.
        const std::size_t next = part.find('\r', room);
        const std::size_t lost = std::min(next, part.size()) - room;
        kept_lost_ += lost;
        at_ += lost;
        if (next != std::string_view::npos) {
            ++at_;
            keeping_ = false;
            give(line, kept_, kept_offset_, kept_lost_);
            return true;
        }
    }
    if (!ended) return false;
    ++at_;
    keeping_ = false;
    give(line, kept_, kept_offset_, kept_lost_);
    return true;
}

Result<bool> LineReader::next(Line& line, std::stop_token stop) {
    if (!keeping_) {
        kept_.clear();
        kept_lost_ = 0;
    }
    while (!done_) {
        if (at_ >= block_.size) {
            const Result<bool> more = fill(stop);
            if (!more) return tl::unexpected<Error>(more.error());
            if (!*more) break;
        }
        if (!keeping_) pass_zeros();
        if (at_ >= block_.size) continue;
        const std::string_view rest(block_.data + at_, block_.size - at_);
        const std::size_t size = end_of(rest);
        const bool ended = size < rest.size();
        const std::uint64_t offset = block_.offset + at_;
        if (ended && !keeping_ && size <= kMaxLine) {
            at_ += size + 1;
            give(line, rest.substr(0, size), offset, 0);
            return true;
        }
        if (!keeping_) kept_offset_ = offset;
        keeping_ = true;
        if (keep(rest.substr(0, size), ended, line)) return true;
    }
    if (!keeping_) {
        if (zeros_ == 0) return false;
        give(line, {}, end_, 0);  // only to say that there were some
        return true;
    }
    keeping_ = false;
    give(line, kept_, kept_offset_, kept_lost_);
    return true;
}

}  // namespace faultline::service_log
