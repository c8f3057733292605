#include "importers/service_log/line_reader.h"

#include <algorithm>
#include <cstring>

namespace faultline::service_log {

void LineReader::keep(std::string_view part) {
    const std::size_t room = kMaxLine - std::min(kMaxLine, kept_.size());
    kept_.append(part.substr(0, room));
    if (part.size() > room) kept_lost_ += part.size() - room;
}

Result<bool> LineReader::next(Line& line, std::stop_token stop) {
    if (!keeping_) {
        kept_.clear();
        kept_lost_ = 0;
    }
    while (!done_) {
        if (at_ >= block_.size) {
            const Result<bool> more = file_.next(block_, stop);
            if (!more) return tl::unexpected<Error>(more.error());
            at_ = 0;
            if (!*more) {
                done_ = true;
                block_.size = 0;
                break;
            }
            if (block_.offset == 0 && std::string_view(block_.data, block_.size).starts_with("\xEF\xBB\xBF")) at_ = 3;
        }
        const char* const begin = block_.data + at_;
        const std::size_t left = block_.size - at_;
        const auto* const feed = static_cast<const char*>(std::memchr(begin, '\n', left));
        const std::size_t size = feed == nullptr ? left : static_cast<std::size_t>(feed - begin);
        const std::uint64_t offset = block_.offset + at_;
        at_ += size + (feed != nullptr ? 1 : 0);
        if (feed != nullptr && !keeping_) {
            line = {std::string_view(begin, std::min(size, kMaxLine)), offset, size - std::min(size, kMaxLine)};
            return true;
        }
        if (!keeping_) kept_offset_ = offset;
        keeping_ = true;
        keep({begin, size});
        if (feed == nullptr) continue;
        keeping_ = false;
        line = {kept_, kept_offset_, kept_lost_};
        return true;
    }
    if (!keeping_) return false;
    keeping_ = false;
    line = {kept_, kept_offset_, kept_lost_};
    return true;
}

}  // namespace faultline::service_log
