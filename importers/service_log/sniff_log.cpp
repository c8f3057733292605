#include "importers/service_log/sniff_log.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "importers/service_log/clean_text.h"
#include "importers/service_log/line_header.h"
#include "importers/service_log/line_wrapper.h"

namespace faultline::service_log {

namespace {

constexpr std::size_t kSniffed = 512 * 1024;  // start-up output of installers and launchers may come first
constexpr std::size_t kLongest = 4096;        // a header is at the beginning of its line

bool has_header(std::string_view line, LineUnwrapper& unwrapper) {
    std::string text(line);
    remove_ansi(text);
    const Unwrapped from = unwrapper.unwrap(text);
    if (from.stamp.known() || from.pid) return true;
    const std::size_t begin = from.rest.find_first_not_of("\r \t");
    if (begin == std::string_view::npos) return false;
    if (const Header header = read_header(from.rest.substr(begin)); header.sure) return true;
    if (const auto bar = progress_end(from.rest)) return read_header(from.rest.substr(*bar)).sure;
    return false;
}

}  // namespace

bool is_binary(std::string_view text) noexcept {
    constexpr std::size_t kLooked = 4096;
    bool in_line = false;
    text.remove_prefix(std::min(text.find_first_not_of('\0'), text.size()));
    for (const char c : text.substr(0, kLooked)) {
        if (c == '\0' && in_line) return true;
        if (c != '\0') in_line = c != '\n';
    }
    return false;
}

int sniff_log(std::string_view head) {
    if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
    head.remove_prefix(std::min(head.find_first_not_of('\0'), head.size()));
    head = head.substr(0, kSniffed);
    if (is_binary(head)) return 0;
    LineUnwrapper unwrapper;
    std::size_t lines = 0;
    std::size_t known = 0;
    while (!head.empty()) {
        const std::size_t end = std::min(head.find('\n'), head.size());
        std::string_view line = head.substr(0, end);
        line.remove_prefix(std::min(line.find_first_not_of('\0'), line.size()));
        head.remove_prefix(std::min(end + 1, head.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        ++lines;
        // A JSON line counts only as a whole: the head may end inside of it.
        known += has_header(line.starts_with('{') ? line : line.substr(0, kLongest), unwrapper);
    }
    if (known < 2 && !(known == 1 && lines <= 3)) return 0;
    if (known * 2 >= lines) return 90;
    if (known * 10 >= lines) return 75;
    return known >= 3 || known * 50 >= lines ? 60 : 0;
}

}  // namespace faultline::service_log
