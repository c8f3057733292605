#include "importers/nsys/cpu_activity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace faultline::nsys {

namespace {

struct Switch {
    std::int64_t thread;
    TimeNs time;
    std::int64_t cpu;
    bool in;
};

/// Pairs the switches of one thread, which are sorted by time.
class RunningSpans {
public:
    RunningSpans(Session& session, std::int64_t thread) : s_(session), name_(session.source.name("running")) {
        const Places::HostPlace& host = s_.places.host(thread);
        track_ = &s_.source.marks_track(host.process, fmt::format("thread {} on processors", tid_of(thread)));
        track_->track.thread = host.thread;
    }

    void take(const Switch& s) {
        if (s.in) {
            if (open_) close(s.time, true);
            open_ = s;
        } else if (open_) {
            close(s.time, false);
        } else {
            // Already running when the session began.
            open_ = Switch{s.thread, std::min<TimeNs>(0, s.time), s.cpu, true};
            close(s.time, true);
        }
    }
    void end(TimeNs session_end) {
        if (open_) close(std::max(session_end, open_->time), true);
    }

private:
    void close(TimeNs at, bool unfinished) {
        const std::uint32_t position = track_->append(open_->time, at - open_->time, name_, SpanKind::other);
        track_->set(position, Column::cpu, open_->cpu);
        if (unfinished) track_->add_flag(position, flag_unfinished);
        open_.reset();
    }

    Session& s_;
    NameId name_;
    TrackBuffer* track_ = nullptr;
    std::optional<Switch> open_;
};

}  // namespace

void read_schedule(Session& session) {
    enum { start, cpu, in, thread };
    std::vector<Switch> switches;
    TableScan row = session.rows_of("SCHED_EVENTS", {"start", "cpu", "isSchedIn", "globalTid"});
    while (row.next()) {
        const std::optional<TimeRange> at = session.interval(row, start, start);
        if (!at) continue;
        session.ledger.add_read();
        switches.push_back({row.integer(thread), at->start, row.integer_or_zero(cpu), row.integer_or_zero(in) != 0});
    }
    // At one instant a thread is switched out before it is switched in again.
    std::sort(switches.begin(), switches.end(), [](const Switch& a, const Switch& b) {
        if (a.thread != b.thread) return a.thread < b.thread;
        return a.time != b.time ? a.time < b.time : a.in < b.in;
    });
    TimeNs last = session.duration.value_or(0);
    for (const Switch& s : switches) last = std::max(last, s.time);
    for (std::size_t i = 0; i < switches.size();) {
        RunningSpans spans(session, switches[i].thread);
        const std::int64_t of = switches[i].thread;
        for (; i < switches.size() && switches[i].thread == of; ++i) spans.take(switches[i]);
        spans.end(last);
    }
}

namespace {

/// The frames of samples, a sample after the other, from a table sorted by sample and depth.
class SampleStacks {
public:
    explicit SampleStacks(Session& session)
        : s_(session),
          row_(session.rows_of("SAMPLING_CALLCHAINS", {"id", "symbol", "stackDepth"}, {{}, "id, stackDepth", TableScan::Losses::noted})) {
        advance();
    }

    /// The stack of a sample, outermost first. Samples are asked for in ascending order.
    [[nodiscard]] std::string of(std::int64_t sample) {
        while (more_ && id_ < sample) {
            orphan();
            advance();
        }
        symbols_.clear();
        while (more_ && id_ == sample) {
            symbols_.push_back(row_.integer_or_zero(1));
            advance();
        }
        std::string stack;
        for (std::size_t i = symbols_.size(); i > 0; --i) {
            if (!stack.empty()) stack += ';';
            stack += frame(symbols_[i - 1]);
        }
        return stack;
    }
    void end() {
        for (; more_; advance()) orphan();
    }

private:
    void advance() {
        more_ = row_.next();
        if (!more_) return;
        id_ = row_.integer_or_zero(0);
        s_.ledger.add_metadata();
    }
    void orphan() { s_.ledger.note("nsys.frame-without-sample", "A frame belongs to a sample that is not in the capture", row_.place()); }

    const std::string& frame(std::int64_t symbol) {
        const auto [at, added] = frames_.try_emplace(symbol);
        if (added) {
            at->second = s_.strings.text(symbol);
            std::replace(at->second.begin(), at->second.end(), ';', ':');  // separates frames
        }
        return at->second;
    }

    Session& s_;
    TableScan row_;
    bool more_ = false;
    std::int64_t id_ = 0;
    std::vector<std::int64_t> symbols_;
    std::unordered_map<std::int64_t, std::string> frames_;
};

}  // namespace

void read_samples(Session& session) {
    if (!session.db.has("COMPOSITE_EVENTS")) return;
    enum { id, start, thread };
    SampleStacks stacks(session);
    TableScan row = session.rows_of("COMPOSITE_EVENTS", {"id", "start", "globalTid"}, {{}, "id", TableScan::Losses::dropped});
    while (row.next()) {
        const std::optional<TimeRange> at = session.interval(row, start, start);
        if (!at) continue;
        session.ledger.add_read();
        StackSample sample;
        sample.source = session.source.source.id;
        sample.time = at->start;
        if (!row.is_null(thread)) {
            const Places::HostPlace& host = session.places.host(row.integer(thread));
            sample.process = host.process;
            sample.thread = host.thread;
        }
        sample.stack = stacks.of(row.integer_or_zero(id));
        session.source.stack_samples.push_back(std::move(sample));
    }
    stacks.end();
}

}  // namespace faultline::nsys
