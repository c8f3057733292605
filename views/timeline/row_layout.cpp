#include "views/timeline/row_layout.h"

#include <fmt/format.h>
#include <QCoreApplication>
#include <QFileInfo>
#include <QLocale>
#include <algorithm>

#include "views/format.h"
#include "views/timeline/process_rows.h"

namespace faultline {

namespace {

constexpr const char* kRequestGroup = "requests";
constexpr const char* kRequestMore = "requests/all";

QString tr(const char* text) { return QCoreApplication::translate("Timeline", text); }
QString text_of(const std::string& text) { return QString::fromStdString(text); }

QString process_title(const ProcessRows& rows) {
    if (rows.process == nullptr) return rows.source ? QFileInfo(text_of(rows.source->path)).fileName() : tr("Capture");
    const Process& p = *rows.process;
    if (!p.name.empty()) return text_of(p.name);
    return p.pid_text.empty() ? tr("Process %1").arg(p.pid) : text_of(p.pid_text);
}

QString process_detail(const ProcessRows& rows) {
    QStringList parts;
    if (rows.process != nullptr) {
        const Process& p = *rows.process;
        if (!p.name.empty() && p.pid_text.empty()) parts << tr("pid %1").arg(p.pid);
        if (!p.labels.empty() && p.labels != p.name) parts << text_of(p.labels);
    }
    const auto rank = rows.process && rows.process->rank ? rows.process->rank : rows.source ? rows.source->rank : std::nullopt;
    if (rank) parts << tr("rank %1").arg(*rank);
    if (rows.source && !rows.source->host.empty()) parts << text_of(rows.source->host);
    parts << tr("%1 spans").arg(count_text(static_cast<std::int64_t>(rows.spans)));
    return parts.join(QStringLiteral(" · "));
}

QString thread_title(const LoadedCapture& capture, const Track& track) {
    const Thread* thread = track.thread && capture.reader ? capture.reader->thread(*track.thread) : nullptr;
    if (thread == nullptr) return track.name.empty() ? tr("Thread") : text_of(track.name);
    if (!thread->name.empty()) return text_of(thread->name);
    return thread->tid_text.empty() ? tr("thread %1").arg(thread->tid) : text_of(thread->tid_text);
}

QString stream_title(std::int64_t stream) { return stream < 0 ? tr("device") : tr("stream %1").arg(stream); }

/// Number of outermost Python lanes that hold next to nothing (`<module>`, `main`, a loop that never returns) above ones that hold more.
int outer_frames(const std::vector<const Lane*>& lanes) {
    constexpr std::size_t kFew = 2;
    std::size_t outer = 0;
    while (outer < lanes.size() && lanes[outer]->size() <= kFew) ++outer;
    return outer == lanes.size() ? 0 : static_cast<int>(outer);
}

/// Appends rows top to bottom.
class RowWriter {
public:
    RowWriter(const LoadedCapture& capture, const RowMetrics& metrics, const RowChoices& choices)
        : capture_(capture), metrics_(metrics), choices_(choices) {}

    void requests(const RequestLanes& lanes, const LoadedCapture& capture);
    void process(const ProcessRows& rows, const std::string& key);
    [[nodiscard]] std::vector<Row> take() { return std::move(rows_); }
    [[nodiscard]] int bottom() const noexcept { return rows_.empty() ? 0 : y_ + metrics_.gap; }

private:
    Row& add(RowKind kind, int level, int height, int gap = 0);
    /// Rows that follow lie under it, until the next heading. False: folded away.
    bool heading(RowKind kind, int level, const QString& title, const QString& detail, const std::string& group, int under,
                 bool folded_at_first = false);
    void threads(const ProcessRows& rows, const std::string& key, int under);
    void thread(const TrackSet& set, const std::string& key);
    void lanes(const TrackLanes& track, bool python, const QString& title, const std::string& key, int level);
    void more(const Track& track, int level, const QString& title, int hidden, const std::string& group);
    void devices(const ProcessRows& rows, const std::string& key, int under);
    void device(std::uint32_t id, const DeviceRows& rows, const std::string& key, int under);
    void stream(const TrackSet& set, const QString& title);
    void counters(const ProcessRows& rows);
    void marks(const ProcessRows& rows, const std::string& key, int under);
    const LoadedCapture& capture_;
    const RowMetrics& metrics_;
    const RowChoices& choices_;
    std::vector<Row> rows_;
    int y_ = 0;
    int band_ = 0;
    int parent_ = -1;
};

Row& RowWriter::add(RowKind kind, int level, int height, int gap) {
    Row row;
    row.kind = kind;
    row.level = level;
    row.top = y_ + gap;
    row.height = height;
    row.band = band_;
    row.parent = parent_;
    y_ = row.bottom();
    rows_.push_back(std::move(row));
    return rows_.back();
}

bool RowWriter::heading(RowKind kind, int level, const QString& title, const QString& detail, const std::string& group, int under,
                        bool folded_at_first) {
    ++band_;
    const bool after_lanes = !rows_.empty() && rows_.back().kind != RowKind::process && rows_.back().kind != RowKind::layer;
    const bool spaced = kind == RowKind::process ? y_ > 0 : after_lanes;
    Row& row = add(kind, level, kind == RowKind::process ? metrics_.heading : metrics_.layer, spaced ? metrics_.gap : 0);
    row.title = title;
    row.detail = detail;
    row.group = group;
    row.parent = under;
    parent_ = static_cast<int>(rows_.size()) - 1;
    row.folded = folded_at_first ? !choices_.opened.contains(group) : choices_.folded.contains(group);
    return !row.folded;
}

void RowWriter::requests(const RequestLanes& lanes, const LoadedCapture& capture) {
    if (lanes.lanes.empty()) return;
    const QString count =
        lanes.requests == 1 ? tr("1 request") : tr("%1 requests").arg(count_text(static_cast<std::int64_t>(lanes.requests)));
    if (!heading(RowKind::layer, 1, tr("Requests"), count, kRequestGroup, -1)) return;
    const bool all = choices_.opened.contains(kRequestMore);
    const std::size_t shown = all ? lanes.lanes.size() : std::min(lanes.lanes.size(), RowLayout::kRequestLanes);
    for (std::size_t i = 0; i < shown; ++i) {
        ++band_;
        Row& row = add(RowKind::request, 2, metrics_.device, i == 0 ? metrics_.gap : 0);
        row.requests = &lanes.lanes[i];
        if (!lanes.packed()) row.title = text_of(capture.requests[lanes.lanes[i].bars.front().request].name);
    }
    if (lanes.lanes.size() <= RowLayout::kRequestLanes) return;
    const int hidden = static_cast<int>(lanes.lanes.size() - RowLayout::kRequestLanes);
    Row& row = add(RowKind::more, 2, metrics_.lane);
    row.title = all ? tr("fewer rows") : hidden == 1 ? tr("1 more row") : tr("%1 more rows").arg(hidden);
    row.group = kRequestMore;
    row.folded = !all;
    row.hidden = all ? -hidden : hidden;
}

void RowWriter::process(const ProcessRows& rows, const std::string& key) {
    if (!heading(RowKind::process, 0, process_title(rows), process_detail(rows), key, -1)) return;
    const int under = parent_;
    if (!rows.threads.empty()) threads(rows, key, under);
    if (!rows.devices.empty() || !rows.counters.empty()) devices(rows, key, under);
    if (!rows.marks.empty()) marks(rows, key, under);
}

void RowWriter::threads(const ProcessRows& rows, const std::string& key, int under) {
    std::vector<const TrackSet*> sets;
    for (const auto& [id, set] : rows.threads) sets.push_back(&set);
    std::stable_sort(sets.begin(), sets.end(), [](const TrackSet* x, const TrackSet* y) { return x->spans > y->spans; });
    const QString count = sets.size() == 1 ? tr("1 thread") : tr("%1 threads").arg(sets.size());
    if (!heading(RowKind::layer, 1, tr("Framework"), count, key + "/framework", under)) return;
    const int framework = parent_;
    for (std::size_t i = 0; i < sets.size(); ++i) {
        if (i == RowLayout::kThreads) {
            const QString title = tr("%1 more threads").arg(sets.size() - i);
            if (!heading(RowKind::layer, 1, title, tr("the less busy ones"), key + "/threads", framework, true)) return;
        }
        thread(*sets[i], fmt::format("{}/t{}", key, index_of(sets[i]->tracks.front()->track.id)));
    }
}

void RowWriter::thread(const TrackSet& set, const std::string& key) {
    QString title = thread_title(capture_, set.tracks.front()->track);
    ++band_;
    for (const TrackLanes* track : set.tracks) {
        const std::string own = fmt::format("{}.{}", key, index_of(track->track.id));
        lanes(*track, false, title, own, 2);
        if (!rows_.empty() && rows_.back().band == band_) title.clear();
    }
    for (const TrackLanes* track : set.tracks) {
        const std::string own = fmt::format("{}.{}/py", key, index_of(track->track.id));
        lanes(*track, true, title.isEmpty() ? tr("Python stack") : title, own, 2);
    }
}

void RowWriter::lanes(const TrackLanes& track, bool python, const QString& title, const std::string& key, int level) {
    std::vector<const Lane*> all;
    for (const Lane& lane : track.lanes) {
        if (lane.python == python) all.push_back(&lane);
    }
    if (all.empty()) return;
    const int total = static_cast<int>(all.size());
    const bool folded = choices_.folded.contains(key);
    const bool deep = choices_.opened.contains(key);
    const int most = python || level == 3 ? RowLayout::kPythonLanes : RowLayout::kWorkLanes;
    const int outer = python ? outer_frames(all) : 0;
    const int first = deep ? 0 : outer;
    const int last = folded ? first + 1 : deep ? total : std::min(total, outer + most);
    for (int i = first; i < last; ++i) {
        Row& row = add(RowKind::lane, level, metrics_.lane, i == first ? metrics_.gap : 0);
        row.track = &track.track;
        row.lane = all[static_cast<std::size_t>(i)];
        if (i != first) continue;
        row.title = title;
        if (track.track.lane > 0) row.detail = tr("overlap %1").arg(track.track.lane);
        if (total > 1) {
            row.group = key;
            row.folded = folded;
        }
    }
    if (folded) return;
    const int hidden = total - (last - first);
    const int extra = deep ? total - std::min(most, total - outer) : 0;
    if (hidden > 0)
        more(track.track, level, hidden == 1 ? tr("1 more level") : tr("%1 more levels").arg(hidden), hidden, key);
    else if (extra > 0)
        more(track.track, level, tr("fewer levels"), -extra, key);
}

void RowWriter::more(const Track& track, int level, const QString& title, int hidden, const std::string& group) {
    Row& row = add(RowKind::more, level, metrics_.lane);
    row.track = &track;
    row.title = title;
    row.group = group;
    row.folded = hidden > 0;
    row.hidden = hidden;
}

void RowWriter::devices(const ProcessRows& rows, const std::string& key, int under) {
    const bool none = rows.devices.empty();  // what a log counts belongs to no device
    const QString count = none ? QString() : rows.devices.size() == 1 ? tr("1 device") : tr("%1 devices").arg(rows.devices.size());
    if (!heading(RowKind::layer, 1, none ? tr("Counters") : tr("Kernels"), count, key + "/kernels", under)) return;
    const int kernels = parent_;
    for (const auto& [id, own] : rows.devices) device(id, own, fmt::format("{}/d{}", key, id), kernels);
    parent_ = kernels;
    counters(rows);
}

void RowWriter::device(std::uint32_t id, const DeviceRows& rows, const std::string& key, int under) {
    const Device* device = id != kNoId && capture_.reader ? capture_.reader->device(DeviceId{id}) : nullptr;
    if (!heading(RowKind::layer, 2, device ? tr("GPU %1").arg(device->ordinal) : tr("Device"), device ? text_of(device->name) : QString(),
                 key, under))
        return;
    for (const auto& [number, set] : rows.streams) {
        stream(set, stream_title(number));
        const auto ranges = rows.ranges.find(number);
        if (ranges == rows.ranges.end()) continue;
        for (const TrackLanes* track : ranges->second.tracks) {
            lanes(*track, false, tr("ranges"), fmt::format("{}/r{}", key, index_of(track->track.id)), 3);
        }
    }
    for (const auto& [number, set] : rows.ranges) {
        if (rows.streams.contains(number)) continue;
        ++band_;
        for (const TrackLanes* track : set.tracks) {
            const QString title = number < 0 ? tr("ranges") : tr("ranges, stream %1").arg(number);
            lanes(*track, false, title, fmt::format("{}/r{}", key, index_of(track->track.id)), 3);
        }
    }
}

void RowWriter::stream(const TrackSet& set, const QString& title) {
    ++band_;
    bool first = true;
    for (const TrackLanes* track : set.tracks) {
        for (const Lane& lane : track->lanes) {
            Row& row = add(RowKind::device, 3, metrics_.device, first ? metrics_.gap : 0);
            row.track = &track->track;
            row.lane = &lane;
            if (first)
                row.title = title;
            else
                row.detail = tr("overlapping");
            first = false;
        }
    }
}

void RowWriter::counters(const ProcessRows& rows) {
    for (const TrackLanes* track : rows.counters) {
        for (const Lane& lane : track->lanes) {
            ++band_;
            Row& row = add(RowKind::counter, 3, metrics_.counter, metrics_.gap);
            row.track = &track->track;
            row.lane = &lane;
            row.title = track->track.name.empty() ? tr("counter") : text_of(track->track.name);
            if (lane.values.empty()) continue;
            const auto [least, most] = std::minmax_element(lane.values.begin(), lane.values.end());
            row.detail = QStringLiteral("%1 … %2").arg(QLocale().toString(*least, 'g', 4), QLocale().toString(*most, 'g', 4));
        }
    }
}

void RowWriter::marks(const ProcessRows& rows, const std::string& key, int under) {
    if (!heading(RowKind::layer, 1, tr("Marks"), QString(), key + "/marks", under)) return;
    for (const TrackLanes* track : rows.marks) {
        ++band_;
        const QString title = track->track.name.empty() ? tr("marks") : text_of(track->track.name);
        lanes(*track, false, title, fmt::format("{}/m{}", key, index_of(track->track.id)), 2);
    }
}

}  // namespace

void RowChoices::toggle(const Row& row) {
    // A row is folded either because it is named in `folded` or because it is not named in `opened`; both sets say what was chosen.
    if (row.group.empty()) return;
    const auto flip = [&](std::set<std::string>& set) {
        if (!set.erase(row.group)) set.insert(row.group);
    };
    const bool opens = row.kind == RowKind::more || (row.group.ends_with("/threads"));
    flip(opens ? opened : folded);
}

RowLayout RowLayout::build(const LoadedCapture& capture, const RowMetrics& metrics, const RowChoices& choices,
                           const RequestLanes* requests) {
    RowLayout layout;
    if (!capture.index) return layout;
    RowWriter writer(capture, metrics, choices);
    if (requests != nullptr) writer.requests(*requests, capture);
    int number = 0;
    for (const ProcessRows& rows : sorted_processes(capture)) writer.process(rows, fmt::format("p{}", number++));
    layout.height_ = writer.bottom();
    layout.rows_ = writer.take();
    return layout;
}

int RowLayout::row_at(int y) const noexcept {
    if (y < 0) return -1;
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), y, [](const Row& row, int wanted) { return row.bottom() <= wanted; });
    return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

int RowLayout::row_of(const Lane* lane) const noexcept {
    if (lane == nullptr) return -1;
    const auto at = std::find_if(rows_.begin(), rows_.end(), [lane](const Row& row) { return row.lane == lane; });
    return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

int RowLayout::row_of(const RequestLane* lane) const noexcept {
    if (lane == nullptr) return -1;
    const auto at = std::find_if(rows_.begin(), rows_.end(), [lane](const Row& row) { return row.requests == lane; });
    return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

std::pair<int, int> RowLayout::visible(int top, int bottom) const noexcept {
    const auto first = std::lower_bound(rows_.begin(), rows_.end(), top, [](const Row& row, int y) { return row.bottom() <= y; });
    const auto last = std::lower_bound(first, rows_.end(), bottom, [](const Row& row, int y) { return row.top < y; });
    return {static_cast<int>(first - rows_.begin()), static_cast<int>(last - rows_.begin())};
}

void reveal_requests(std::size_t lane, RowChoices& choices) {
    choices.folded.erase(kRequestGroup);
    if (lane >= RowLayout::kRequestLanes) choices.opened.insert(kRequestMore);
}

bool reveal_lane(const LoadedCapture& capture, const Lane* lane, RowChoices& choices) {
    if (lane == nullptr || RowLayout::build(capture, {}, choices).row_of(lane) >= 0) return false;
    // Open everything to find the row, then only the groups on the way to it: those of the headings above and its own.
    RowChoices all = choices;
    all.folded.clear();
    for (int round = 0; round < 3; ++round) {  // "more threads" hides "more levels": each round shows the next
        const RowLayout open = RowLayout::build(capture, {}, all);
        for (const Row& row : open.rows()) {
            if ((row.kind == RowKind::more && row.hidden > 0) || (row.group.ends_with("/threads") && row.folded))
                all.opened.insert(row.group);
        }
    }
    const RowLayout open = RowLayout::build(capture, {}, all);
    const int at = open.row_of(lane);
    if (at < 0) return false;
    for (int i = open.rows()[static_cast<std::size_t>(at)].parent; i >= 0; i = open.rows()[static_cast<std::size_t>(i)].parent) {
        const std::string& group = open.rows()[static_cast<std::size_t>(i)].group;
        choices.folded.erase(group);
        if (group.ends_with("/threads")) choices.opened.insert(group);
    }
    // Then, of its own track, what is needed: the folded track itself, the levels behind "more".
    for (const Row& row : open.rows()) {
        if (row.track != open.rows()[static_cast<std::size_t>(at)].track || !row.toggles()) continue;
        choices.folded.erase(row.group);
        if (RowLayout::build(capture, {}, choices).row_of(lane) >= 0) return true;
        if (row.kind == RowKind::more) choices.opened.insert(row.group);
        if (RowLayout::build(capture, {}, choices).row_of(lane) >= 0) return true;
    }
    return true;
}

}  // namespace faultline
