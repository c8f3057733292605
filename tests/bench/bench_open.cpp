// bench_open [--json] CAPTURE: opening a capture, its index, and the questions of BUDGETS.md by core call and by SQL.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/capture_reader.h"
#include "core/query.h"
#include "core/span_index.h"
#include "core/statistics.h"
#include "tests/bench/bench_report.h"

using namespace faultline;
using namespace faultline::bench;

namespace {

constexpr int kRuns = 5;
constexpr double kMs = 1000;

/// Decodes the columns that an index holds: what reading costs before anything is done with it.
double decode_seconds(const CaptureReader& capture) {
    std::vector<std::int64_t> values;
    return median_seconds(3, [&] {
        for (const Track& track : capture.tracks()) {
            for (std::size_t chunk = 0; chunk < capture.chunks(track.id).size(); ++chunk) {
                for (const Column column : {Column::start, Column::duration, Column::name, Column::kind, Column::depth})
                    (void)capture.read_chunk(track.id, chunk, column, values);
            }
        }
    });
}

double query_seconds(const CaptureReader& capture, const std::string& sql) {
    return median_seconds(3, [&] {
        const auto done = run_query(
            capture, sql, [](const auto&) {}, [](const auto&) { return true; });
        if (!done) fmt::print(stderr, "bench_open: {}\n", done.error().sentence);
    });
}

/// The host span that launched the most work near the middle: a range with something under it.
TimeRange middle_range(const SpanIndex& index) {
    const TimeRange extent = index.extent();
    const TimeNs middle = extent.start + extent.duration() / 2;
    return {middle, middle + std::max<TimeNs>(extent.duration() / 1000, 1)};
}

void bench_core(const SpanIndex& index, TimeRange range, Report& report) {
    std::size_t found = 0;
    report.add({"top 10 kernels, core", kMs * median_seconds(kRuns, [&] { found += top_names(index, SpanKind::kernel, 10).size(); }), "ms",
                std::nullopt, 20});
    report.add({"device work under a range, core", kMs * median_seconds(kRuns, [&] { found += device_work_in(index, range).size(); }), "ms",
                std::nullopt, 2});
    report.add(
        {"gaps of all streams, core", kMs * median_seconds(kRuns, [&] { found += stream_gaps(index).size(); }), "ms", std::nullopt, 50});
    if (found == 0) fmt::print(stderr, "bench_open: the capture has no device work\n");
}

void bench_sql(const CaptureReader& capture, TimeRange range, Report& report) {
    const auto add = [&](const char* what, double goal, const std::string& sql) {
        report.add({what, query_seconds(capture, sql), "s", std::nullopt, goal});
    };
    add("top 10 kernels, SQL", 1.2,
        "SELECT name, count(*), sum(duration_ns), avg(duration_ns), max(duration_ns) FROM kernels GROUP BY name ORDER BY 3 DESC LIMIT 10");
    add("kernels under a range, SQL", 1.2,
        fmt::format("SELECT id, name, duration_ns FROM kernels WHERE start_ns < {} AND end_ns > {}", range.end, range.start));
    add("gaps of all streams, SQL", 1.2,
        "SELECT device, stream, count(*), sum(gap_ns) FROM kernels WHERE gap_ns > 0 GROUP BY device, stream");
    add("gaps of all streams by a window function, SQL", 1.2,
        "SELECT device, stream, count(*), sum(gap) FROM (SELECT device, stream, start_ns - lag(end_ns) OVER (PARTITION BY source, device, "
        "stream ORDER BY start_ns) "
        "AS gap FROM kernels) WHERE gap > 0 GROUP BY device, stream");
    add("spans by name, SQL", 1.2, "SELECT name, count(*), sum(duration_ns) FROM span GROUP BY name ORDER BY 3 DESC LIMIT 10");
    add("kernels JOIN api_calls USING (correlation), SQL", 5,
        "SELECT count(*), sum(kernels.start_ns - api_calls.start_ns) FROM kernels JOIN api_calls USING (correlation)");
    add("kernels with their launches by id, SQL", 5,
        "SELECT count(*), sum(k.start_ns - a.start_ns) FROM kernels AS k JOIN api_calls AS a ON a.id = k.launch");
}

}  // namespace

int main(int argc, char** argv) {
    bool json = false;
    std::string path;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--json")
            json = true;
        else
            path = argv[i];
    }
    if (path.empty()) {
        fmt::print(stderr, "bench_open: name a capture. Usage: bench_open [--json] CAPTURE\n");
        return 2;
    }
    const auto capture = CaptureReader::open(path);
    const auto index = capture ? SpanIndex::build(**capture) : tl::unexpected<Error>(capture.error());
    if (!index) {
        fmt::print(stderr, "bench_open: {}.\n", index.error().sentence);
        return exit_status(index.error().code);
    }
    Report report("bench_open", json);
    report.add({"spans", static_cast<double>((*index)->span_count()), "spans", std::nullopt, std::nullopt});
    report.add({"open", median_seconds(kRuns, [&] { (void)CaptureReader::open(path); }), "s", std::nullopt, std::nullopt});
    report.add({"open and build the index",
                median_seconds(kRuns,
                               [&] {
                                   const auto again = CaptureReader::open(path);
                                   if (again) (void)SpanIndex::build(**again);
                               }),
                "s", decode_seconds(**capture), std::nullopt});
    const TimeRange range = middle_range(**index);
    bench_core(**index, range, report);
    bench_sql(**capture, range, report);
    report.print();
    return 0;
}
