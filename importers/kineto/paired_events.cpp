#include "importers/kineto/paired_events.h"

#include <fmt/format.h>

#include <algorithm>

namespace faultline::kineto {

/// What has begun and not ended: a stack, from whose middle a span may be taken by its name.
class PairedEvents::OpenSpans {
public:
    void push(const Mark& mark) {
        by_name_[index_of(mark.name)].push_back(spans_.size());
        spans_.push_back({&mark, kNever, false});
    }

    /// The innermost open span with this name, or null.
    const Mark* close_named(NameId name, TimeNs time) {
        const auto found = by_name_.find(index_of(name));
        if (found == by_name_.end() || found->second.empty()) return nullptr;
        return close(found->second.back(), time);
    }

    /// The innermost open span, or null.
    const Mark* close_top(TimeNs time) { return spans_.empty() ? nullptr : close(spans_.size() - 1, time); }

    /// What was never ended, with the time at which it must have been over.
    [[nodiscard]] std::vector<std::pair<const Mark*, TimeNs>> unfinished(TimeNs last_time) const {
        std::vector<std::pair<const Mark*, TimeNs>> all;
        for (const Open& span : spans_)
            if (!span.closed) all.emplace_back(span.mark, span.enclosing_end == kNever ? last_time : span.enclosing_end);
        return all;
    }

private:
    static constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
    struct Open {
        const Mark* mark;
        TimeNs enclosing_end;  ///< when the first span that encloses it ended
        bool closed;
    };

    const Mark* close(std::size_t at, TimeNs time) {
        const Mark* const mark = spans_[at].mark;
        by_name_[index_of(mark->name)].pop_back();
        spans_[at].closed = true;
        constexpr std::size_t kMostInside = 64;  // deeper ones are closed at the end of the thread
        for (std::size_t i = at + 1; i < std::min(spans_.size(), at + 1 + kMostInside); ++i)
            spans_[i].enclosing_end = std::min(spans_[i].enclosing_end, time);
        while (!spans_.empty() && spans_.back().closed) spans_.pop_back();
        return mark;
    }

    std::vector<Open> spans_;
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_name_;  ///< positions of open spans
};

PairedEvents::Marks& PairedEvents::marks(TrackBuffer& track, const std::string& key) {
    if (last_track_ != &track) {
        const auto [at, added] = group_of_.try_emplace(&track, groups_.size());
        if (added) groups_.push_back({&track, {}});
        last_track_ = &track;
        last_group_ = at->second;
    }
    return groups_[last_group_].by_key[key];
}

void PairedEvents::begin(TrackBuffer& track, const std::string& key, std::uint32_t at, std::uint64_t offset) {
    marks(track, key).push_back({track.starts[at], offset, track.names[at], at, true, true, false});
}

void PairedEvents::end(TrackBuffer& track, const std::string& key, TimeNs time, NameId name, bool named, std::uint64_t offset) {
    marks(track, key).push_back({time, offset, name, 0, false, named, false});
}

void PairedEvents::resolve(ImportLedger& ledger, RepairedSpans& repaired) {
    for (Group& group : groups_) {
        TimeNs last = std::numeric_limits<TimeNs>::min();
        for (std::uint32_t i = 0; i < group.track->size(); ++i) last = std::max(last, group.track->end(i));
        for (const auto& [key, marks] : group.by_key)
            for (const Mark& m : marks) last = std::max(last, m.time);
        for (auto& [key, marks] : group.by_key) resolve(*group.track, marks, last, ledger, repaired);
    }
    groups_.clear();
    group_of_.clear();
    last_track_ = nullptr;
}

void PairedEvents::resolve(TrackBuffer& track, Marks& marks, TimeNs last_time, ImportLedger& ledger, RepairedSpans& repaired) {
    std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
    OpenSpans open;
    const auto close = [&](const Mark& beginning, TimeNs time) { track.durations[beginning.at] = time - beginning.time; };
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const Mark& mark = marks[i];
        if (mark.done) continue;
        if (mark.begins) {
            open.push(mark);
            continue;
        }
        // Names need not agree by the format, but where they do, spans may cross; core gives those a lane of their own.
        if (const Mark* const beginning = mark.named ? open.close_named(mark.name, mark.time) : open.close_top(mark.time);
            beginning != nullptr) {
            close(*beginning, mark.time);
        } else if (Mark* const twin = twin_of(marks, i); twin != nullptr) {
            twin->done = true;
            close(*twin, mark.time);
        } else {
            ledger.dropped("kineto.end-without-begin", "An end event has no beginning and was left out",
                           fmt::format("byte {}", mark.offset));
            continue;
        }
        ledger.add_read();
    }
    for (const auto& [mark, time] : open.unfinished(last_time)) {
        close(*mark, std::max(time, mark->time));
        track.add_flag(mark->at, flag_unfinished);
        ledger.repaired("kineto.unfinished", "A begin event has no end; it was closed with what encloses it or at the end of its thread",
                        fmt::format("byte {}", mark->offset), !repaired.emplace(&track, mark->at).second);
    }
}

/// The beginning of the end at `i` that stands behind it in the file at the same time, as instants are written; or null.
PairedEvents::Mark* PairedEvents::twin_of(Marks& marks, std::size_t i) {
    constexpr std::size_t kMostDistance = 64;
    const std::size_t limit = std::min(marks.size(), i + 1 + kMostDistance);
    for (std::size_t j = i + 1; j < limit && marks[j].time == marks[i].time && marks[i].named; ++j)
        if (marks[j].begins && !marks[j].done && marks[j].name == marks[i].name) return &marks[j];
    return nullptr;
}

}  // namespace faultline::kineto
