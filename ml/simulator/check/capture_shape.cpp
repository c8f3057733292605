#include "ml/simulator/check/capture_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/families.h"
#include "core/kernel_roles.h"

namespace faultline::simulator {
namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// The columns of one chunk that shapes need.
struct Columns {
    std::vector<std::int64_t> start, duration, name, kind, step;

    Result<void> read(const CaptureReader& capture, TrackId track, std::size_t chunk) {
        const std::pair<Column, std::vector<std::int64_t>*> wanted[] = {
            {Column::start, &start}, {Column::duration, &duration}, {Column::name, &name}, {Column::kind, &kind}, {Column::step, &step}};
        for (const auto& [column, values] : wanted) {
            if (auto done = capture.read_chunk(track, chunk, column, *values); !done) return done;
        }
        return {};
    }
};

struct KernelTotal {
    double count = 0, time = 0;
};

class Shaper {
public:
    Shaper(const CaptureReader& capture, const std::vector<Step>& steps) : capture_(capture), families_(capture), roles_(capture) {
        counts_.resize(steps.size());
        for (std::size_t i = 0; i < steps.size(); ++i) positions_.emplace(index_of(steps[i].id), i);
    }

    Result<void> add(const Track& track) {
        TrackState state;
        Columns columns;
        for (std::size_t chunk = 0; chunk < capture_.chunks(track.id).size(); ++chunk) {
            if (auto done = columns.read(capture_, track.id, chunk); !done) return done;
            for (std::size_t i = 0; i < columns.start.size(); ++i) {
                const auto at = positions_.find(columns.step[i]);
                const Span span{static_cast<SpanKind>(columns.kind[i]), NameId{static_cast<std::uint32_t>(columns.name[i])},
                                columns.start[i], columns.start[i] + std::max<TimeNs>(columns.duration[i], 0)};
                const bool counts = at != positions_.end();
                ++recorded_[span.kind];
                if (track.kind == TrackKind::host) nest(span, counts, state);
                // Kernels that begin before the one in front of them is over stand on lanes of their own: gaps are those of the whole stream.
                if (track.kind == TrackKind::device && is_device_work(span.kind)) {
                    streams_[{index_of(track.source), track.device ? index_of(*track.device) : 0U, track.stream.value_or(-1)}].push_back(
                        {span.start, span.end, counts ? static_cast<std::int64_t>(at->second) : -1});
                }
                if (counts) count(span, at->second, track);
            }
        }
        return {};
    }

    StepShape finish(const std::vector<Step>& steps) {
        StepShape shape;
        shape.steps = steps.size();
        shape.ranks = std::max(1, static_cast<int>(devices_.size()));
        std::vector<double> lengths, busy;
        for (const Step& step : steps) {
            lengths.push_back(static_cast<double>(step.end - step.start));
            if (step.end > step.start)
                busy.push_back(static_cast<double>(step.kernel_busy_ns) / static_cast<double>(step.end - step.start) / shape.ranks);
        }
        shape.length_ns = median(std::move(lengths));
        shape.busy_share = median(std::move(busy));
        events(shape);
        names(shape);
        for (auto& [stream, works] : streams_) follow(works);
        std::sort(gaps_.begin(), gaps_.end());
        shape.gaps_ns = std::move(gaps_);
        shape.recorded = recorded_;
        shape.depth = depth_;
        shape.frame_depth = frame_depth_;
        shape.mean_depth = nested_ > 0 ? depth_sum_ / nested_ : 0;
        return shape;
    }

private:
    struct Span {
        SpanKind kind;
        NameId name;
        TimeNs start, end;
    };
    struct TrackState {
        std::vector<TimeNs> open, frames;  ///< ends of the spans around the next one
    };
    struct Work {
        TimeNs start, end;
        std::int64_t step;
    };
    struct StepCounts {
        std::map<SpanKind, double> kinds;
        std::map<std::uint32_t, double> kernels;  ///< by name
        double launches = 0, graph_launches = 0;
    };

    void nest(const Span& span, bool counts, TrackState& state) {
        const bool frame = span.kind == SpanKind::python;
        if (!frame && span.kind != SpanKind::range && span.kind != SpanKind::op && !is_api_call(span.kind)) return;
        std::vector<TimeNs>& around = frame ? state.frames : state.open;
        while (!around.empty() && around.back() <= span.start) around.pop_back();
        around.push_back(span.end);
        if (!counts) return;
        const int depth = static_cast<int>(around.size());
        if (frame) {
            frame_depth_ = std::max(frame_depth_, depth);
        } else {
            depth_ = std::max(depth_, depth);
            depth_sum_ += depth;
            ++nested_;
        }
    }

    void follow(std::vector<Work>& works) {
        std::sort(works.begin(), works.end(), [](const Work& a, const Work& b) { return a.start < b.start; });
        std::int64_t last_step = -1;
        TimeNs last_end = 0;
        for (const Work& work : works) {
            if (work.step >= 0 && work.step == last_step) gaps_.push_back(static_cast<double>(std::max<TimeNs>(0, work.start - last_end)));
            last_end = work.step == last_step ? std::max(last_end, work.end) : work.end;
            last_step = work.step;
        }
    }

    void count(const Span& span, std::size_t step, const Track& track) {
        StepCounts& counts = counts_[step];
        ++counts.kinds[span.kind];
        if (is_api_call(span.kind)) {
            if (const auto role = roles_.of(span.kind, span.name)) {
                if (roles_[*role].graph_launch) ++counts.graph_launches;
                if (roles_[*role].kernel_launch) ++counts.launches;
            }
        }
        if (span.kind == SpanKind::kernel) {
            ++counts.kernels[index_of(span.name)];
            KernelTotal& total = kernels_[index_of(span.name)];
            ++total.count;
            total.time += static_cast<double>(span.end - span.start);
            if (track.device) devices_.insert(index_of(*track.device));
        } else if (span.kind == SpanKind::range || span.kind == SpanKind::op || is_api_call(span.kind)) {
            ++host_[{span.kind, index_of(span.name)}];
        }
    }

    /// The median over the steps, per rank.
    template <class Value>
    double middle(const StepShape& shape, Value value) const {
        std::vector<double> values;
        for (const StepCounts& step : counts_) values.push_back(value(step) / shape.ranks);
        return median(std::move(values));
    }

    void events(StepShape& shape) const {
        std::set<SpanKind> kinds;
        for (const StepCounts& step : counts_) {
            for (const auto& [kind, n] : step.kinds) kinds.insert(kind);
        }
        for (const SpanKind kind : kinds) {
            shape.events[kind] = middle(shape, [&](const StepCounts& step) {
                const auto found = step.kinds.find(kind);
                return found == step.kinds.end() ? 0.0 : found->second;
            });
        }
        shape.launches = middle(shape, [](const StepCounts& step) { return step.launches; });
        shape.graph_launches = middle(shape, [](const StepCounts& step) { return step.graph_launches; });
    }

    void names(StepShape& shape) {
        std::map<std::string, KernelTotal> families;
        std::map<std::string, double> per_step;
        double time = 0;
        for (const auto& [name, total] : kernels_) time += total.time;
        for (const auto& [name, total] : kernels_) {
            KernelTotal& family = families[std::string(families_.family(SpanKind::kernel, NameId{name}))];
            family.count += total.count;
            family.time += total.time;
            const std::string_view text = capture_.name(NameId{name});
            if (time > 0) shape.kernel_names[plain_name(text)] += total.time / time;
            per_step[std::string(text)] += middle(shape, [id = name](const StepCounts& step) {
                const auto found = step.kernels.find(id);
                return found == step.kernels.end() ? 0.0 : found->second;
            });
        }
        for (const auto& [family, total] : families) shape.families[family] = {time > 0 ? total.time / time : 0, total.time / total.count};
        shape.layers = repeats_of(per_step);
        std::map<SpanKind, double> all;
        for (const auto& [key, n] : host_) all[key.first] += n;
        for (const auto& [key, n] : host_) {
            shape.host_names[key.first][plain_name(capture_.name(NameId{key.second}))] += n / all[key.first];
        }
    }

    const CaptureReader& capture_;
    NameFamilies families_;
    KernelRoles roles_;
    std::unordered_map<std::int64_t, std::size_t> positions_;
    std::vector<StepCounts> counts_;
    std::map<std::uint32_t, KernelTotal> kernels_;
    std::map<std::pair<SpanKind, std::uint32_t>, double> host_;
    std::map<SpanKind, std::uint64_t> recorded_;
    std::set<std::uint32_t> devices_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::vector<Work>> streams_;  ///< by source, device, number
    std::vector<double> gaps_;
    int depth_ = 0, frame_depth_ = 0;
    double depth_sum_ = 0, nested_ = 0;
};

bool hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

double StepShape::per_step(SpanKind kind) const {
    const auto found = events.find(kind);
    return found == events.end() ? 0 : found->second;
}

double StepShape::gap(double quantile) const {
    if (gaps_ns.empty()) return 0;
    const auto at = static_cast<std::size_t>(quantile * static_cast<double>(gaps_ns.size() - 1) + 0.5);
    return gaps_ns[at];
}

Result<StepShape> shape_of(const CaptureReader& capture, const std::vector<Step>& steps) {
    Shaper shaper(capture, steps);
    for (const Track& track : capture.tracks()) {
        if (auto done = shaper.add(track); !done) return tl::unexpected<Error>(done.error());
    }
    return shaper.finish(steps);
}

Error without_steps(const CaptureReader& capture) {
    const std::string path = capture.sources().empty() ? capture.path() : capture.sources().front().path;
    return {ErrorCode::unusable_input, fmt::format("{} holds no steps with kernels that could be compared", path),
            "Give a capture of a serving engine with device work in it"};
}

int repeats_of(const std::map<std::string, double>& kernels_per_step) {
    constexpr int kFewest = 8;  // below, it is no stack of layers
    std::map<int, double> by_count;
    for (const auto& [name, n] : kernels_per_step) {
        const int count = static_cast<int>(std::lround(n));
        if (count >= kFewest) by_count[count] += count;
    }
    int best = 0;
    double best_score = 0;
    for (auto candidate = by_count.rbegin(); candidate != by_count.rend(); ++candidate) {
        double score = 0;
        for (const auto& [count, kernels] : by_count) score += count % candidate->first == 0 ? kernels : 0;
        if (score > 1.1 * best_score) {
            best = candidate->first;
            best_score = score;
        }
    }
    return best;
}

std::string log_shape(std::string_view level, std::string_view text) {
    std::string shape(level);
    shape += ' ';
    for (std::size_t i = 0; i < text.size();) {
        const bool begins = i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0;
        std::size_t end = i;
        bool digits = false, letters = false;
        while (end < text.size() && hex(text[end])) {
            digits = digits || digit(text[end]);
            letters = letters || !digit(text[end]);
            ++end;
        }
        const bool ends = end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0;
        if (begins && ends && digits && letters && end - i >= 6) {  // an id or an address
            shape += '#';
            i = end;
        } else if (digit(text[i])) {
            while (i < text.size() && (digit(text[i]) || ((text[i] == '.' || text[i] == ',') && i + 1 < text.size() && digit(text[i + 1]))))
                ++i;
            shape += '#';
        } else {
            shape += text[i++];
        }
    }
    return shape;
}

std::map<std::string, double> log_shapes(const std::vector<LogLine>& lines) {
    std::map<std::string, double> shapes;
    for (const LogLine& line : lines)
        shapes[log_shape(line.level, line.text.substr(0, line.text.find('\n')))] += 1.0 / static_cast<double>(lines.size());
    return shapes;
}

}  // namespace faultline::simulator
