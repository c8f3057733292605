#include "ml/simulator/serving/log_queue.h"

#include <algorithm>
#include <utility>

namespace faultline::simulator {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return std::pair(a.draft.time, a.order) > std::pair(b.draft.time, b.order); };

}  // namespace

void LogQueue::add(std::vector<LogDraft> drafts) {
    for (LogDraft& draft : drafts) {
        heap_.push_back({added_++, std::move(draft)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
}

void LogQueue::give(TimeNs until, Sink& sink) {
    while (!heap_.empty() && heap_.front().draft.time < until) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const LogDraft& d = heap_.back().draft;
        sink.log({d.time, d.process, d.level, d.layout, d.file, d.line, d.text, d.suspect});
        ++given_;
        heap_.pop_back();
    }
}

}  // namespace faultline::simulator
