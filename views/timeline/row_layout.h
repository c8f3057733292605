// Which rows the timeline has and where they lie: the requests at the top, then the processes, their framework layer (host threads) and
// kernel layer (devices, streams, counters), each a group that can be folded away.
//
// A value made from the capture and the user's choices; no widget, no painting. Heights are logical pixels from RowMetrics.
#pragma once

#include <QString>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/span_index.h"
#include "views/session.h"
#include "views/timeline/request_lanes.h"

namespace faultline {

struct RowMetrics {
    int lane = 18;    ///< one lane of spans
    int device = 22;  ///< a lane of a device stream
    int counter = 36;
    int heading = 24;  ///< process
    int layer = 20;    ///< framework, kernels, a device
    int gap = 5;       ///< above each thread, stream or counter
};

enum class RowKind : std::uint8_t {
    process,  ///< heading of a process (or of what belongs to none)
    layer,    ///< heading of its framework or kernel layer, of a device, of "more threads"
    lane,     ///< spans of a host thread, a device-range row or marks
    device,   ///< spans of a stream
    counter,
    more,     ///< "12 more levels": opens the rest of a track
    request,  ///< bars of requests
};

/// A row; `group` is what folds when the row is toggled (empty: nothing).
struct Row {
    RowKind kind = RowKind::lane;
    int level = 0;   ///< indentation of the title
    QString title;   ///< empty where the row continues the one above
    QString detail;  ///< second, quieter text
    std::string group;
    bool folded = false;  ///< the group is folded away
    int top = 0;          ///< y of the row, gap included above it
    int height = 0;
    int band = 0;  ///< rows of one thread, stream or counter share a number
    const Track* track = nullptr;
    const Lane* lane = nullptr;  ///< null for headings, "more" and requests
    const RequestLane* requests = nullptr;
    int hidden = 0;   ///< lanes behind a "more" row; negative: lanes that it would fold away again
    int parent = -1;  ///< row of the heading above it, -1 for a process

    [[nodiscard]] int bottom() const noexcept { return top + height; }
    [[nodiscard]] bool toggles() const noexcept { return !group.empty(); }
    [[nodiscard]] bool heading() const noexcept { return lane == nullptr && requests == nullptr; }  ///< nothing is painted in it
};

/// What the user folded away or opened, by group; groups keep it across captures of the same shape.
struct RowChoices {
    std::set<std::string> folded;  ///< groups that are open unless named here
    std::set<std::string> opened;  ///< groups that are folded unless named here
    void toggle(const Row& row);
};

class RowLayout {
public:
    static constexpr int kWorkLanes = 14;            ///< lanes of a track shown before "more"
    static constexpr int kPythonLanes = 4;           ///< below the outermost frames, which hold next to nothing
    static constexpr std::size_t kRequestLanes = 6;  ///< lanes of requests shown before "more"
    static constexpr std::size_t kThreads = 6;       ///< busiest threads of a process shown before "more threads"

    /// `requests` outlives the rows; without it there is no request layer.
    [[nodiscard]] static RowLayout build(const LoadedCapture& capture, const RowMetrics& metrics, const RowChoices& choices,
                                         const RequestLanes* requests = nullptr);

    [[nodiscard]] const std::vector<Row>& rows() const noexcept { return rows_; }
    [[nodiscard]] int height() const noexcept { return height_; }
    /// Row at `y`; the gap above a row belongs to it. -1 outside.
    [[nodiscard]] int row_at(int y) const noexcept;
    /// Row of a lane, -1 where it is folded away.
    [[nodiscard]] int row_of(const Lane* lane) const noexcept;
    [[nodiscard]] int row_of(const RequestLane* lane) const noexcept;
    /// Rows that touch [top, bottom).
    [[nodiscard]] std::pair<int, int> visible(int top, int bottom) const noexcept;

private:
    std::vector<Row> rows_;
    int height_ = 0;
};

/// Opens the request layer, all of it where lane number `lane` stands behind "more".
void reveal_requests(std::size_t lane, RowChoices& choices);

/// Opens whatever hides a lane. False where it was in sight already or the capture has no such lane.
[[nodiscard]] bool reveal_lane(const LoadedCapture& capture, const Lane* lane, RowChoices& choices);

}  // namespace faultline
