#include "core/call_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace faultline {

namespace {

constexpr TimeNs kClockSkew = 1'000'000;  ///< device clocks may put a kernel a little before its launch

/// Classes by (kind, name), each asked once.
class LayerAnswers {
public:
    LayerAnswers(const CaptureReader& capture, const LayerRules& rules) : capture_(capture), rules_(rules) {}
    LayerClass operator()(SpanKind kind, NameId name) {
        const std::uint64_t key = (std::uint64_t{index_of(name)} << 8) | static_cast<std::uint64_t>(kind);
        const auto known = known_.find(key);
        if (known != known_.end()) return known->second;
        return known_.emplace(key, rules_.classify(kind, capture_.name(name))).first->second;
    }

private:
    const CaptureReader& capture_;
    const LayerRules& rules_;
    std::unordered_map<std::uint64_t, LayerClass> known_;
};

bool is_chain_kind(SpanKind kind) {
    return kind == SpanKind::range || kind == SpanKind::op || is_api_call(kind) || kind == SpanKind::os_call || is_device_work(kind) ||
           kind == SpanKind::async || kind == SpanKind::other;
}

class StepTree {
public:
    StepTree(const CaptureReader& capture, const LayerRules& rules, Step step, ChainOptions options)
        : capture_(capture), layers_(capture, rules), options_(options), step_(std::move(step)) {
        for (const SpanId s : step_.spans) step_spans_.insert(s.value);
    }

    Result<CallChain> build() {
        std::vector<const Track*> lanes;  // sub-lanes after the tracks that hold them
        for (const Track& t : capture_.tracks())
            if (t.kind == TrackKind::host) lanes.push_back(&t);
        std::stable_sort(lanes.begin(), lanes.end(), [](const Track* a, const Track* b) { return a->lane < b->lane; });
        for (const Track* t : lanes)
            if (auto ok = read_track(*t, {Column::depth, Column::correlation}); !ok) return tl::unexpected<Error>(ok.error());
        for (const Track& t : capture_.tracks())
            if (t.kind == TrackKind::device)
                if (auto ok = read_track(t, {Column::launch, Column::correlation}); !ok) return tl::unexpected<Error>(ok.error());
        return in_depth_first_order();
    }

private:
    struct Columns {
        std::vector<std::int64_t> step, start, duration, name, kind, place, correlation;  ///< place: depth, or the launch of device spans
    };
    struct Extra {
        Column place, correlation;
    };

    [[nodiscard]] bool touches(const Track& track, const Chunk& chunk) const {
        return chunk.max_start + track.clock_offset_ns >= step_.start - kClockSkew &&
               chunk.min_start + track.clock_offset_ns <= step_.end + kClockSkew;
    }

    Result<void> read_track(const Track& track, Extra extra) {
        const auto& chunks = capture_.chunks(track.id);
        const std::size_t first_node = nodes_.size();
        open_.clear();
        Columns c;
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            if (!touches(track, chunks[i])) continue;
            if (auto ok = capture_.read_chunk(track.id, i, Column::step, c.step); !ok) return ok;
            if (std::find(c.step.begin(), c.step.end(), index_of(step_.id)) == c.step.end()) continue;
            for (const auto& [column, out] : {std::pair{Column::start, &c.start},
                                              {Column::duration, &c.duration},
                                              {Column::name, &c.name},
                                              {Column::kind, &c.kind},
                                              {extra.place, &c.place},
                                              {extra.correlation, &c.correlation}})
                if (auto ok = capture_.read_chunk(track.id, i, column, *out); !ok) return ok;
            for (std::size_t s = 0; s < c.step.size(); ++s) {
                if (c.step[s] != index_of(step_.id)) continue;
                if (track.kind == TrackKind::device)
                    add_device_span(track, chunks[i].first_ordinal + s, c, s);
                else
                    add_host_span(track, chunks[i].first_ordinal + s, c, s);
            }
        }
        if (track.kind == TrackKind::host && track.lane == 0) main_lanes_.push_back({&track, first_node, nodes_.size()});
        return {};
    }

    std::size_t add_node(const Track& track, std::uint64_t ordinal, const Columns& c, std::size_t s, std::int64_t parent) {
        ChainNode node;
        node.span = SpanId::make(track.id, ordinal);
        node.parent = parent;
        node.kind = static_cast<SpanKind>(c.kind[s]);
        node.name = NameId{static_cast<std::uint32_t>(c.name[s])};
        node.start = c.start[s];
        node.duration = c.duration[s];
        node.track = track.id;
        if (c.correlation[s] != kNull) node.correlation = c.correlation[s];
        nodes_.push_back(node);
        return nodes_.size() - 1;
    }

    void add_host_span(const Track& track, std::uint64_t ordinal, const Columns& c, std::size_t s) {
        const TimeNs start = c.start[s];
        const std::int64_t depth = c.place[s] == kNull ? 0 : c.place[s];
        while (!open_.empty() && (open_.back().depth >= depth || open_.back().end < start)) open_.pop_back();
        std::int64_t node = open_.empty() ? -1 : open_.back().node;
        if (open_.empty() && track.lane > 0) node = innermost_on_main_lane(track, start);
        const auto kind = static_cast<SpanKind>(c.kind[s]);
        const bool is_step = step_spans_.contains(SpanId::make(track.id, ordinal).value);
        if (is_step || is_chain_kind(kind) || (options_.python && kind == SpanKind::python))
            node = static_cast<std::int64_t>(add_node(track, ordinal, c, s, node));
        if (is_api_call(kind) && node >= 0) calls_[SpanId::make(track.id, ordinal).value] = node;
        open_.push_back({depth, start + c.duration[s], node});
    }

    void add_device_span(const Track& track, std::uint64_t ordinal, const Columns& c, std::size_t s) {
        if (!is_device_work(static_cast<SpanKind>(c.kind[s]))) return;
        const auto call = calls_.find(c.place[s]);
        add_node(track, ordinal, c, s, call == calls_.end() ? -1 : call->second);
    }

    /// Nodes of a main lane stand in order of start, parents first: the last that starts in time, or what encloses it.
    [[nodiscard]] std::int64_t innermost_on_main_lane(const Track& lane, TimeNs t) const {
        for (const MainLane& m : main_lanes_) {
            if (m.track->thread != lane.thread || m.track->process != lane.process || m.track->part != lane.part) continue;
            const auto first = nodes_.begin() + static_cast<std::ptrdiff_t>(m.first),
                       last = nodes_.begin() + static_cast<std::ptrdiff_t>(m.last);
            const auto after = std::upper_bound(first, last, t, [](TimeNs time, const ChainNode& n) { return time < n.start; });
            std::int64_t node = after == first ? -1 : static_cast<std::int64_t>(after - nodes_.begin()) - 1;
            while (node >= 0 && nodes_[static_cast<std::size_t>(node)].start + nodes_[static_cast<std::size_t>(node)].duration <= t)
                node = nodes_[static_cast<std::size_t>(node)].parent;
            return node;
        }
        return -1;
    }

    [[nodiscard]] LayerClass layer_of(const ChainNode& node, LayerClass around) {
        if (step_spans_.contains(node.span.value)) return LayerClass::step;
        const LayerClass own = layers_(node.kind, node.name);
        if (own != LayerClass::none) return own;
        return around == LayerClass::none || around == LayerClass::step ? LayerClass::backend : around;
    }

    CallChain in_depth_first_order() {
        const auto by_start = [this](std::size_t a, std::size_t b) { return nodes_[a].start < nodes_[b].start; };
        std::vector<std::size_t> roots;
        std::vector<std::vector<std::size_t>> inside(nodes_.size());
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            (nodes_[i].parent < 0 ? roots : inside[static_cast<std::size_t>(nodes_[i].parent)]).push_back(i);
        std::stable_sort(roots.begin(), roots.end(), by_start);
        for (auto& list : inside) std::stable_sort(list.begin(), list.end(), by_start);

        CallChain chain;
        chain.nodes.reserve(nodes_.size());
        struct Todo {
            std::size_t node;
            std::int64_t parent;  ///< in the chain
        };
        std::vector<Todo> todo;
        for (auto r = roots.rbegin(); r != roots.rend(); ++r) todo.push_back({*r, -1});
        while (!todo.empty()) {
            const Todo next = todo.back();
            todo.pop_back();
            ChainNode node = nodes_[next.node];
            node.parent = next.parent;
            node.layer = layer_of(node, next.parent < 0 ? LayerClass::none : chain.nodes[static_cast<std::size_t>(next.parent)].layer);
            const auto here = static_cast<std::int64_t>(chain.nodes.size());
            chain.nodes.push_back(node);
            for (auto c = inside[next.node].rbegin(); c != inside[next.node].rend(); ++c) todo.push_back({*c, here});
        }
        chain.step = std::move(step_);
        return chain;
    }

    struct Open {
        std::int64_t depth;
        TimeNs end;
        std::int64_t node;  ///< the span itself or, where it is no node, the one around it
    };
    struct MainLane {
        const Track* track;
        std::size_t first, last;
    };

    const CaptureReader& capture_;
    LayerAnswers layers_;
    ChainOptions options_;
    Step step_;
    std::unordered_set<std::int64_t> step_spans_;
    std::vector<ChainNode> nodes_;
    std::unordered_map<std::int64_t, std::int64_t> calls_;  ///< span of an API call → node
    std::vector<Open> open_;
    std::vector<MainLane> main_lanes_;
};

tl::unexpected<Error> no_step(const CaptureReader& capture, StepId step) {
    const auto stalls = capture.stalls();
    const bool stall = stalls && std::any_of(stalls->begin(), stalls->end(), [&](const Step& s) { return s.id == step; });
    if (stall)
        return fail(ErrorCode::wrong_usage, fmt::format("{} is a stall, a time in which no step ran, and has no chain", index_of(step)),
                    "Ask `faultline diagnose` and `faultline bubbles` about it");
    return fail(ErrorCode::wrong_usage, fmt::format("the capture has no step {}", index_of(step)), "`faultline steps CAPTURE` lists those it has");
}

}  // namespace

Result<CallChain> step_chain(const CaptureReader& capture, const LayerRules& layers, StepId step, ChainOptions options) {
    auto steps = capture.steps();
    if (!steps) return tl::unexpected<Error>(steps.error());
    const auto found = std::find_if(steps->begin(), steps->end(), [&](const Step& s) { return s.id == step; });
    if (found == steps->end()) return no_step(capture, step);
    return StepTree(capture, layers, std::move(*found), options).build();
}

}  // namespace faultline
