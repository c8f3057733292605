// NVTX: ranges, marks, names of threads, domains and categories (FORMATS §1.3; ENGINES §3).
//
// - push/pop ranges (59) lie on their thread and nest there. A range without end, or with the end of the session, was still open.
// - start/end ranges (60) lie on their thread too where they nest with its push/pop ranges. Those that cross one, or end on another
//   thread, are asynchronous: they lie on a track of their own beside the thread that began them, so that nothing is nested in them by
//   accident.
// - ranges of the domain "GIL Trace" (who holds Python's lock, who waits) lie on a track of their own beside their thread, since the lock
//   changes hands in the middle of other ranges.
// - PyTorch appends ", seq = N, op_id = N, sizes = […]" to the names of its operators: they become columns and arguments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "importers/nsys/session.h"

namespace faultline::nsys {

/// What PyTorch says in the name of a range beside the operator's own name.
struct OperatorText {
    std::string_view name;
    std::int64_t sequence = kNull;
    std::int64_t record_function = kNull;
    std::string_view sizes;  ///< as it stands there, empty where it does not
};
[[nodiscard]] OperatorText split_operator(std::string_view text) noexcept;

class NvtxReader {
public:
    explicit NvtxReader(Session& session) : s_(session) {}

    void read();
    /// Ends what is still open, once everything else is on its track.
    void finish();
    /// Names given to threads by the program, by global thread id.
    [[nodiscard]] const std::unordered_map<std::int64_t, NameId>& thread_names() const noexcept { return thread_names_; }
    /// Categories as JSON members: "domain/number": "name". Empty where there are none.
    [[nodiscard]] std::string categories() const;

private:
    struct Domain {
        NameId name{};
        bool gil = false;
    };
    void read_names();
    void read_range(const TableScan& row, bool start_end);
    void read_mark(const TableScan& row);
    [[nodiscard]] const Domain* domain_of(const TableScan& row);
    [[nodiscard]] NameId name_of(const TableScan& row, OperatorText& parts);
    void set_columns(TrackBuffer& track, std::uint32_t at, const TableScan& row, const OperatorText& parts, const Domain* domain);
    [[nodiscard]] TrackBuffer& range_track(std::int64_t thread, const Domain* domain);
    [[nodiscard]] TrackBuffer& track_beside(const Places::HostPlace& host, std::int64_t global_tid);
    void place_start_end();

    Session& s_;
    std::map<std::pair<std::int64_t, std::int64_t>, Domain> domains_;  ///< by process and number
    std::int64_t last_domain_process_ = kNull, last_domain_ = kNull;
    const Domain* last_domain_found_ = nullptr;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::string> categories_;  ///< by process, domain and number
    std::unordered_map<std::int64_t, NameId> thread_names_;
    std::unordered_map<std::int64_t, TrackBuffer*> gil_tracks_;
    struct Pending {  ///< a start/end range whose track is decided when the thread's other ranges are known
        std::int64_t thread;
        std::uint32_t held;  ///< position in held_
    };
    TrackBuffer held_;  ///< start/end ranges that wait
    std::vector<Pending> pending_;
    struct Open {
        TrackBuffer* track;
        std::uint32_t at;
    };
    std::vector<Open> open_;  ///< ranges without an end
};

}  // namespace faultline::nsys
