#include "views/logs/log_filter.h"

#include <algorithm>

namespace faultline {

namespace {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// `needle` is in lower case.
bool holds(std::string_view text, std::string_view needle) noexcept {
    return std::search(text.begin(), text.end(), needle.begin(), needle.end(), [](char a, char b) { return lower(a) == b; }) != text.end();
}

bool anywhere(const LogLine& line, std::string_view needle) noexcept {
    return holds(line.text, needle) || holds(line.logger, needle) || holds(line.request, needle) || holds(line.level, needle);
}

/// The next word, without its quotes; `rest` is what follows it.
std::string next_word(std::string_view& rest, bool& unwanted) {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    unwanted = rest.size() > 1 && rest.front() == '-';
    if (unwanted) rest.remove_prefix(1);
    const bool quoted = !rest.empty() && rest.front() == '"';
    if (quoted) rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find(quoted ? '"' : ' '), rest.size());
    std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::transform(word.begin(), word.end(), word.begin(), lower);
    return word;
}

}  // namespace

LogLevel log_level(const LogLine& line) noexcept {
    if (line.level == "ERROR") return LogLevel::error;
    if (line.level == "WARNING") return LogLevel::warning;
    if (line.level == "CRITICAL") return LogLevel::critical;
    return line.level == "DEBUG" ? LogLevel::debug : LogLevel::info;
}

LogFilter::LogFilter(LogLevel least, std::string_view words) : least_(least) {
    while (!words.empty()) {
        bool unwanted = false;
        std::string word = next_word(words, unwanted);
        if (!word.empty()) (unwanted ? unwanted_ : wanted_).push_back(std::move(word));
    }
}

bool LogFilter::accepts(const LogLine& line) const {
    return log_level(line) >= least_ && std::all_of(wanted_.begin(), wanted_.end(), [&](const auto& w) { return anywhere(line, w); }) &&
           std::none_of(unwanted_.begin(), unwanted_.end(), [&](const auto& w) { return anywhere(line, w); });
}

}  // namespace faultline
