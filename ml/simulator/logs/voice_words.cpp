#include "ml/simulator/logs/voice_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace faultline::simulator {
namespace {

std::string clock_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds);
    return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                         : fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

/// [00:02<00:02,  1.03s/it]
std::string pace(int done, int total, TimeNs elapsed) {
    const double seconds = seconds_of(elapsed);
    if (done == 0 || seconds <= 0) return fmt::format("[{}<?, ?it/s]", clock_text(seconds));
    const double each = seconds / done;
    const std::string left = clock_text(each * (total - done));
    return each > 1 ? fmt::format("[{}<{}, {:5.2f}s/it]", clock_text(seconds), left, each)
                    : fmt::format("[{}<{}, {:5.2f}it/s]", clock_text(seconds), left, 1 / each);
}

int percent(int done, int total) { return total > 0 ? (done * 200 + total) / (2 * total) : 100; }

}  // namespace

std::string grouped(std::int64_t number) {
    std::string text = fmt::format("{}", number);
    for (auto at = static_cast<int>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) text.insert(static_cast<std::size_t>(at), 1, ',');
    return text;
}

std::string progress_bar(std::string_view label, int done, int total, TimeNs elapsed) {
    std::string bar;
    const int full = total > 0 ? done * 10 / total : 10;
    for (int i = 0; i < 10; ++i) bar += i < full ? "█" : " ";
    return fmt::format("{}{}{:3}%|{}| {}/{} {}", label, label.empty() ? "" : ": ", percent(done, total), bar, done, total,
                       pace(done, total, elapsed));
}

std::string progress_count(std::string_view label, int done, int total, TimeNs elapsed) {
    return fmt::format("{}: {:3}% Completed | {}/{} {}", label, percent(done, total), done, total, pace(done, total, elapsed));
}

}  // namespace faultline::simulator
