#include "core/bubbles.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace faultline {

namespace {

constexpr TimeNs kGraphLaunchTakes = 200'000;  ///< of the host
constexpr TimeNs kLaunchTakes = 50'000;        ///< from the end of a launch to the start of its work where the device waits for it

TimeNs overlap(TimeRange a, TimeRange b) { return std::max<TimeNs>(0, std::min(a.end, b.end) - std::max(a.start, b.start)); }

/// One column, chunk by chunk as it is asked for: cheap where neighbours follow each other.
class ColumnValues {
public:
    ColumnValues(const CaptureReader& capture, Column column) : capture_(capture), column_(column) {}

    Result<std::int64_t> of(SpanId span) {
        const std::size_t chunk = static_cast<std::size_t>(span.ordinal() / chunk_size(span.track()));
        if (!loaded_ || track_ != span.track() || chunk_ != chunk) {
            if (Result<void> ok = capture_.read_chunk(span.track(), chunk, column_, values_); !ok) return tl::unexpected<Error>(ok.error());
            loaded_ = true;
            track_ = span.track();
            chunk_ = chunk;
        }
        const auto at = static_cast<std::size_t>(span.ordinal() % chunk_size(span.track()));
        return at < values_.size() ? values_[at] : kNull;
    }

private:
    /// All chunks but the last of a track are of the size of the first.
    [[nodiscard]] std::uint64_t chunk_size(TrackId track) const {
        const std::vector<Chunk>& chunks = capture_.chunks(track);
        return chunks.empty() ? 1 : std::max<std::uint64_t>(1, chunks.front().count);
    }
    const CaptureReader& capture_;
    Column column_;
    bool loaded_ = false;
    TrackId track_{};
    std::size_t chunk_ = 0;
    std::vector<std::int64_t> values_;
};

/// What one host thread did in a stretch of time.
struct HostWork {
    TimeNs sync = 0, longest_sync = 0, communication = 0;
    SpanId sync_span, communication_span;
    SpanId widest;    ///< the innermost span that covers half of the stretch, else the one that covers most of it, a quarter at least
    TimeNs seen = 0;  ///< time under any span
    bool waits_for_queue = false;  ///< `widest` covers half of the stretch and is_queue_wait()
};

/// The lanes of one host thread, asked with stretches that do not go back.
class HostLanes {
public:
    HostLanes(const CaptureReader& capture, const LayerRules& layers, const SpanIndex& index, const Track& of)
        : capture_(capture), layers_(layers) {
        for (const TrackLanes& t : index.tracks())
            if (t.track.kind == TrackKind::host && t.track.process == of.process && t.track.thread == of.thread &&
                t.track.source == of.source)
                for (const Lane& lane : t.lanes) cursors_.push_back({&lane, 0});
    }

    HostWork under(TimeRange range) {
        HostWork work;
        TimeNs best = range.duration() / 4, half_length = 0;
        NameId half_name{};
        for (Cursor& c : cursors_) {
            const Lane& lane = *c.lane;
            if (c.at > 0 && lane.ends[c.at - 1] > range.start) c.at = lane.find(range).first;
            while (c.at < lane.size() && lane.ends[c.at] <= range.start) ++c.at;
            TimeNs covered = 0, waited = 0;  // calls nest in calls: the lane that waits longest counts
            for (std::size_t i = c.at; i < lane.size() && lane.starts[i] < range.end; ++i) {
                const TimeNs part = overlap({lane.starts[i], lane.ends[i]}, range);
                covered += part;
                note(lane, i, part, waited, work);
                const TimeNs length = lane.ends[i] - lane.starts[i];
                if (2 * part >= range.duration() && (half_length == 0 || length < half_length)) {
                    half_length = length;
                    half_name = lane.names[i];
                    work.widest = SpanId::make(lane.track, lane.ordinals[i]);
                } else if (half_length == 0 && part > best) {
                    best = part;
                    work.widest = SpanId::make(lane.track, lane.ordinals[i]);
                }
            }
            work.seen = std::max(work.seen, covered);
            work.sync = std::max(work.sync, waited);
        }
        work.waits_for_queue = half_length > 0 && is_queue_wait(capture_.name(half_name));
        return work;
    }

private:
    struct Cursor {
        const Lane* lane = nullptr;
        std::size_t at = 0;  ///< first span that may end after what is asked
    };
    enum class Sort : std::uint8_t { plain, sync, communication };

    void note(const Lane& lane, std::size_t i, TimeNs part, TimeNs& waited, HostWork& work) {
        switch (sort_of(lane.kinds[i], lane.names[i])) {
            case Sort::plain: return;
            case Sort::sync:
                waited += part;
                if (part > work.longest_sync) {
                    work.sync_span = SpanId::make(lane.track, lane.ordinals[i]);
                    work.longest_sync = part;
                }
                return;
            case Sort::communication:
                if (part > work.communication) work.communication_span = SpanId::make(lane.track, lane.ordinals[i]);
                work.communication = std::max(work.communication, part);
                return;
        }
    }
    Sort sort_of(SpanKind kind, NameId name) {
        const auto [known, fresh] = sorts_.try_emplace(static_cast<std::uint64_t>(kind) << 32 | index_of(name), Sort::plain);
        if (!fresh) return known->second;
        const std::string_view text = capture_.name(name);
        if (is_api_call(kind) && is_sync_call(text))
            known->second = Sort::sync;
        else if (layers_.classify(kind, text) == LayerClass::comm)
            known->second = Sort::communication;
        return known->second;
    }

    const CaptureReader& capture_;
    const LayerRules& layers_;
    std::vector<Cursor> cursors_;
    std::unordered_map<std::uint64_t, Sort> sorts_;
};

class Explaining {
public:
    explicit Explaining(const BubbleInput& in) : in_(in), launches_(in.capture, Column::launch) {
        for (std::size_t i = 0; i < in.steps.size(); ++i) {
            positions_[index_of(in.steps[i].id)] = i;
            for (const SpanId span : in.steps[i].spans)
                if (const Track* track = in.capture.track(span.track())) main_tracks_.try_emplace(track->source, track->id);
        }
    }

    Result<std::vector<Bubble>> run(std::stop_token stop) {
        std::vector<Bubble> bubbles;
        for (const DeviceBusy& device : in_.devices) {
            hosts_.clear();
            for (const DeviceGap& gap : device.gaps) {
                if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the analysis was cancelled");
                Bubble bubble;
                bubble.id = static_cast<std::int64_t>(bubbles.size()) + 1;
                bubble.device = device.device;
                bubble.start = gap.start;
                bubble.duration = gap.duration();
                bubble.step = step_of(gap);
                if (Result<void> ok = explain(device, gap, bubble); !ok) return tl::unexpected<Error>(ok.error());
                bubbles.push_back(bubble);
            }
        }
        return bubbles;
    }

private:
    [[nodiscard]] std::int64_t step_id(SpanId span) const {
        const auto track = in_.counted.device_steps.find(span.track());
        if (track == in_.counted.device_steps.end() || span.ordinal() >= track->second.size()) return kNull;
        return track->second[static_cast<std::size_t>(span.ordinal())];
    }

    /// The step that both neighbours belong to, else the one in whose time most of the gap lies.
    [[nodiscard]] std::optional<StepId> step_of(const DeviceGap& gap) const {
        const std::int64_t before = step_id(gap.before), after = step_id(gap.after);
        if (after != kNull && before == after) return StepId{after};
        for (const std::int64_t id : {after, before}) {
            const auto found = positions_.find(id);
            if (id == kNull || found == positions_.end()) continue;
            const Step& step = in_.steps[found->second];
            if (2 * overlap({step.start, step.end}, {gap.start, gap.end}) > gap.duration()) return step.id;
        }
        return std::nullopt;
    }

    Result<void> explain(const DeviceBusy& device, const DeviceGap& gap, Bubble& bubble) {
        const Result<std::int64_t> value = launches_.of(gap.after);
        if (!value) return tl::unexpected<Error>(value.error());
        const SpanId launch{*value == kNull ? -1 : *value};
        const std::optional<SpanPlace> call = launch.valid() ? in_.index.place(launch) : std::nullopt;
        const Track* track = call ? in_.capture.track(launch.track()) : main_track(device.source);
        bubble.stack = stack_under(gap, track);
        if (!track || hidden_under(*track, gap)) return {};
        TimeRange waited{gap.start, gap.end};
        if (call) {
            const TimeRange made = call->range();
            waited.end = std::clamp(made.end, gap.start, gap.end);
            const TimeNs queued = gap.end - std::max(gap.start, made.end);
            if (2 * queued > gap.duration() && queued > kLaunchTakes) return {};  // launched, and did not start
        }
        if (waited.empty()) waited.end = waited.start + 1;
        HostWork work = host(*track).under(waited);
        const TimeNs half = waited.duration() / 2;
        if (work.sync > half) {
            bubble.cause = BubbleCause::sync;
            bubble.host_span = work.sync_span;
        } else if (work.communication > half) {
            bubble.cause = BubbleCause::communication;
            bubble.host_span = work.communication_span;
        } else if (call || 2 * work.seen > waited.duration()) {
            bubble.cause = work.waits_for_queue ? BubbleCause::communication : BubbleCause::cpu;
            bubble.host_span = work.widest;
        }
        return {};
    }

    /// Where no launch tells: the thread that has the steps.
    [[nodiscard]] const Track* main_track(SourceId source) const {
        const auto found = main_tracks_.find(source);
        return found == main_tracks_.end() ? nullptr : in_.capture.track(found->second);
    }

    [[nodiscard]] bool hidden_under(const Track& track, const DeviceGap& gap) const {
        auto at = std::lower_bound(in_.hidden.begin(), in_.hidden.end(), gap.start - kGraphLaunchTakes,
                                   [](const HiddenGraph& h, TimeNs t) { return h.start < t; });
        for (; at != in_.hidden.end() && at->start < gap.end; ++at)
            if (at->track == track.id) return true;
        return false;
    }

    HostLanes& host(const Track& track) {
        const auto found = hosts_.find(track.id);
        if (found != hosts_.end()) return found->second;
        return hosts_.emplace(track.id, HostLanes(in_.capture, in_.layers, in_.index, track)).first->second;
    }

    /// The sample of the thread, else of its process, that lies nearest to the middle of the gap.
    [[nodiscard]] std::optional<std::int64_t> stack_under(const DeviceGap& gap, const Track* track) const {
        const auto before = [](const StackSample& s, TimeNs t) { return !s.time || *s.time < t; };
        auto at = std::lower_bound(in_.stacks.begin(), in_.stacks.end(), gap.start, before);
        const TimeNs middle = gap.start + gap.duration() / 2;
        const StackSample* best = nullptr;
        bool best_own = false;
        for (; at != in_.stacks.end() && *at->time < gap.end; ++at) {
            const bool own = track && at->thread && at->thread == track->thread;
            if (track && !own && at->process != track->process) continue;
            if (!track || (best && best_own && !own)) continue;
            if (!best || (own && !best_own) || std::abs(*at->time - middle) < std::abs(*best->time - middle)) {
                best = &*at;
                best_own = own;
            }
        }
        return best ? std::optional(best->id) : std::nullopt;
    }

    const BubbleInput& in_;
    ColumnValues launches_;
    std::unordered_map<std::int64_t, std::size_t> positions_;
    std::map<SourceId, TrackId> main_tracks_;
    std::map<TrackId, HostLanes> hosts_;
};

bool has_text(std::string_view name, std::string_view part) noexcept { return name.find(part) != std::string_view::npos; }

}  // namespace

bool is_sync_call(std::string_view name) noexcept {
    if (has_text(name, "Synchronize")) return true;
    if (has_text(name, "Async")) return false;
    // A copy without a stream returns when it is done.
    return name.starts_with("cudaMemcpy") || name.starts_with("hipMemcpy") || name.starts_with("cuMemcpyDtoH") ||
           name.starts_with("cuMemcpyHtoD");
}

bool is_queue_wait(std::string_view name) noexcept {
    // The ranges of these waits, where an engine writes them (ENGINES §6).
    for (const std::string_view range : {"rpc.wait", "core.wait_input", "exec.wait_output", "scheduler.recv_requests"})
        if (name == range) return true;
    for (const std::string_view part :
         {"acquire_read", "worker_busy_loop", "epoll_wait", "epoll_pwait", "multiprocessing/queues.py", "multiprocessing/connection.py",
          "zmq/sugar", "zmq_poll", "zmq_msg_recv", "recv_multipart", "<built-in method poll", "<method 'poll'"})
        if (has_text(name, part)) return true;
    for (const std::string_view file : {"shm_broadcast.py(", "queue.py(", "selectors.py("})
        if (const std::size_t at = name.find(file); at != std::string_view::npos && (at == 0 || name[at - 1] == '/')) return true;
    return name == "poll" || name == "ppoll" || name == "dequeue" || name.starts_with("dequeue ") ||
           name.starts_with("MessageQueue.dequeue");
}

Result<std::vector<Bubble>> explain_gaps(const BubbleInput& input, std::stop_token stop) { return Explaining(input).run(std::move(stop)); }

Result<std::vector<HiddenGraph>> hidden_graphs(const CaptureReader& capture, const SpanIndex& index) {
    std::vector<bool> graph_names(capture.name_count());
    bool any = false;
    for (std::uint32_t n = 0; n < graph_names.size(); ++n) {
        const std::string_view name = capture.name(NameId{n});
        graph_names[n] = (name.starts_with("cudaGraphLaunch") || name.starts_with("cuGraphLaunch") || name.starts_with("hipGraphLaunch"));
        any |= graph_names[n];
    }
    std::vector<HiddenGraph> hidden;
    if (!any) return hidden;
    std::unordered_map<std::int64_t, HiddenGraph> launches;
    std::map<SourceId, bool> has_kernels;
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind == TrackKind::device) has_kernels[track.track.source] = true;
        if (track.track.kind != TrackKind::host) continue;
        for (const Lane& lane : track.lanes)
            for (std::size_t i = 0; i < lane.size(); ++i)
                if (is_api_call(lane.kinds[i]) && graph_names[index_of(lane.names[i])])
                    launches[SpanId::make(lane.track, lane.ordinals[i]).value] = {lane.track, lane.starts[i], lane.ends[i], kNull};
    }
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind != TrackKind::device || launches.empty()) continue;
        const Result<std::vector<std::int64_t>> column = capture.read_column(track.track.id, Column::launch);
        if (!column) return tl::unexpected<Error>(column.error());
        std::int64_t last = kNull;
        for (const std::int64_t launch : *column) {
            if (launch == last || launch == kNull) continue;
            launches.erase(launch);
            last = launch;
        }
    }
    const std::map<std::int64_t, HiddenGraph> ordered(launches.begin(), launches.end());
    ColumnValues steps(capture, Column::step);
    for (const auto& [span, graph] : ordered) {
        const Track* track = capture.track(graph.track);
        if (!track || !has_kernels[track->source]) continue;
        const Result<std::int64_t> step = steps.of(SpanId{span});
        if (!step) return tl::unexpected<Error>(step.error());
        hidden.push_back(graph);
        hidden.back().step = *step;
    }
    std::sort(hidden.begin(), hidden.end(), [](const HiddenGraph& a, const HiddenGraph& b) { return a.start < b.start; });
    return hidden;
}

}  // namespace faultline
