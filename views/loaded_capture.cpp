#include "views/loaded_capture.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace faultline {

namespace {

/// Moves what `read` holds into `into`.
template <class T>
Result<void> take(Result<T> read, T& into) {
    if (!read) return tl::unexpected<Error>(read.error());
    into = std::move(*read);
    return {};
}

Result<void> load_steps(const CaptureReader& reader, LoadedCapture& capture) {
    if (auto taken = take(reader.steps(), capture.steps); !taken) return taken;
    CaptureAnalysis analysis;
    if (auto taken = take(reader.analysis(), analysis); !taken) return taken;
    std::move(analysis.stalls.begin(), analysis.stalls.end(), std::back_inserter(capture.steps));
    capture.verdicts = std::move(analysis.verdicts);  // one for each item, in this order
    capture.rooflines = std::move(analysis.rooflines);
    capture.bubbles = std::move(analysis.bubbles);
    return {};
}

}  // namespace

const Step* LoadedCapture::step(StepId id) const noexcept {
    const auto it = std::lower_bound(steps.begin(), steps.end(), id, [](const Step& s, StepId wanted) { return s.id < wanted; });
    return it == steps.end() || it->id != id ? nullptr : &*it;
}

const StepVerdict* LoadedCapture::verdict(StepId id) const noexcept {
    const Step* found = step(id);
    if (found == nullptr) return nullptr;
    const auto at = static_cast<std::size_t>(found - steps.data());
    return at < verdicts.size() ? &verdicts[at] : nullptr;
}

bool LoadedCapture::outlier(StepId id) const noexcept {
    const StepVerdict* found = verdict(id);
    return found != nullptr && found->outlier;
}

const Bubble* LoadedCapture::bubble(std::int64_t id) const noexcept {
    const auto it = std::find_if(bubbles.begin(), bubbles.end(), [id](const Bubble& b) { return b.id == id; });
    return it == bubbles.end() ? nullptr : &*it;
}

std::optional<std::size_t> LoadedCapture::log_position(std::int64_t id) const noexcept {
    const auto it = std::find_if(logs.begin(), logs.end(), [id](const LogLine& l) { return l.id == id; });
    return it == logs.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - logs.begin()));
}

std::size_t LoadedCapture::first_timed_log() const noexcept {
    return static_cast<std::size_t>(std::partition_point(logs.begin(), logs.end(), [](const LogLine& l) { return !l.time.has_value(); }) -
                                    logs.begin());
}

Result<void> load_rows(const CaptureReader& reader, LoadedCapture& capture) {
    if (auto loaded = load_steps(reader, capture); !loaded) return loaded;
    if (auto taken = take(reader.requests(), capture.requests); !taken) return taken;
    if (auto taken = take(reader.logs(), capture.logs); !taken) return taken;
    if (!capture.logs.empty() && !capture.requests.empty()) {
        std::vector<RequestMention> mentions;
        if (auto taken = take(reader.mentions(), mentions); !taken) return taken;
        capture.line_requests = requests_of_lines(capture.logs, mentions, capture.requests);
    }
    capture.line_requests.resize(capture.logs.size());
    capture.alignment = alignment_options(reader.sources());
    if (auto taken = take(reader.ledger(), capture.ledger); !taken) return taken;
    return take(reader.health(), capture.health);
}

TimeRange request_range(const LoadedCapture& capture, const Request& request) {
    std::optional<TimeNs> start = request.arrival, end = request.end;
    for (const StepId id : request.steps) {
        const Step* step = capture.step(id);
        if (step == nullptr) continue;
        if (!request.arrival && (!start || step->start < *start)) start = step->start;
        if (!request.end && (!end || step->end > *end)) end = step->end;
    }
    for (const auto& known : {request.first_token, request.arrival}) {
        if (!end && known) end = known;
    }
    for (const auto& known : {request.first_token, request.end}) {
        if (!start && known) start = known;
    }
    if (!start || !end) return {};
    return {std::min(*start, *end), std::max(*end, *start + 1)};
}

std::vector<std::size_t> outliers_worst_first(const LoadedCapture& capture) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < capture.verdicts.size(); ++i) {
        if (capture.verdicts[i].outlier) found.push_back(i);
    }
    const auto key = [&](std::size_t i) {
        const Step& step = capture.steps[i];
        const bool stall = step.kind == StepKind::stall;
        return std::tuple(!stall, stall ? -static_cast<double>(step.end - step.start) : -capture.verdicts[i].ratio.value_or(0), i);
    };
    std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return found;
}

}  // namespace faultline
