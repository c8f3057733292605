#include "core/build_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/collectives.h"
#include "core/find_steps.h"
#include "core/launch_binding.h"
#include "core/nesting.h"
#include "core/range_projection.h"
#include "core/requests.h"

namespace faultline {

namespace {

/// Start of the earliest span whose time was collected: what becomes the zero of a new capture.
TimeNs first_start(const SourceBuilder& source) {
    TimeNs first = std::numeric_limits<TimeNs>::max();
    for (const TrackBuffer& t : source.tracks())
        for (std::uint32_t i = 0; i < t.size(); ++i) {
            const std::int64_t flags = t.get(i, Column::flags);
            if (flags != kNull && (flags & flag_no_time) != 0) continue;
            first = std::min(first, t.starts[i]);
            break;  // sorted
        }
    for (const LogLine& line : source.logs)
        if (line.time) first = std::min(first, *line.time);
    return first == std::numeric_limits<TimeNs>::max() ? 0 : first;
}

void measure(SourceBuilder& source, std::int64_t offset) {
    for (TrackBuffer& t : source.tracks()) {
        t.track.spans = t.size();
        t.track.clock_offset_ns = offset;
        if (t.empty()) continue;
        t.track.first_start = t.starts.front();
        t.track.last_end = t.starts.front();
        for (std::uint32_t i = 0; i < t.size(); ++i) t.track.last_end = std::max(t.track.last_end, t.end(i));
    }
}

void count_kinds(const SourceBuilder& source, BuildSummary& summary) {
    for (const TrackBuffer& t : source.tracks()) {
        summary.spans += t.size();
        for (const SpanKind kind : t.kinds) {
            summary.kernels += kind == SpanKind::kernel;
            summary.api_calls += is_api_call(kind);
            summary.ranges += kind == SpanKind::range;
            summary.ops += kind == SpanKind::op;
        }
    }
}

void judge(SourceBuilder& source, const BuildSummary& s, const FoundSteps& steps) {
    const auto say = [&](std::string code, Severity severity, std::string sentence) {
        source.health.push_back({std::move(code), severity, std::move(sentence)});
    };
    const auto counts = [](const TrackBuffer& t) { return t.empty() || t.track.kind == TrackKind::counter; };
    if (std::all_of(source.tracks().begin(), source.tracks().end(), counts)) return;  // a log, with the counters of its status lines
    if (s.kernels == 0)
        say("kernels.none", Severity::warning,
            "The capture holds no kernels, so nothing can be said about the device. Trace CUDA (or HIP) activity as well.");
    if (s.kernels > 0 && s.api_calls == 0)
        say("launches.none", Severity::warning,
            "No launches were recorded, so kernels cannot be tied to what started them. Trace the CUDA (or HIP) API as well.");
    if (s.api_calls > 0 && s.unbound_kernels > 0)
        say("kernels.unbound", Severity::info,
            fmt::format("{} of {} kernels have no launch in the capture; they are shown, but belong to no operator.", s.unbound_kernels,
                        s.kernels));
    if (s.ranges == 0 && s.spans > 0)
        say("ranges.none", Severity::info,
            "The capture holds no annotations (NVTX or user annotations). Switch on the engine's own, so that steps carry their requests "
            "and tokens.");
    if (steps.inferred)
        say("steps.inferred", Severity::info,
            fmt::format("No text in the capture names its steps: {} were inferred from repetition and carry no requests or tokens.",
                        steps.steps.size()));
}

bool report(const Progress& progress, ImportPhase phase, const ImportLedger& ledger) {
    progress({phase, 0, 0, ledger.totals().read});
    return progress.stopped();
}

tl::unexpected<Error> cancelled() { return fail(ErrorCode::cancelled, "the import was cancelled", "Nothing was written"); }

Result<void> write_tracks(SourceBuilder& source, CaptureWriter& writer, const ImportLedger& ledger, const Progress& progress) {
    for (TrackBuffer& t : source.tracks()) {
        if (report(progress, ImportPhase::writing, ledger)) return cancelled();
        if (Result<void> ok = writer.write_track(t, progress.stop); !ok) return ok;
        t.clear();
    }
    return {};
}

}  // namespace

Result<BuildSummary> build_source(SourceBuilder& source, CaptureWriter& writer, ImportLedger& ledger, const BuildRules& rules,
                                  const Progress& progress) {
    if (report(progress, ImportPhase::sorting, ledger)) return cancelled();
    sort_and_nest(source, ledger, progress);
    if (report(progress, ImportPhase::binding, ledger)) return cancelled();
    const BindingCounts bound = bind_launches(source, ledger);
    bind_host_links(source, ledger);
    project_ranges(source);
    mark_collectives(source, rules.layers);
    if (report(progress, ImportPhase::steps, ledger)) return cancelled();
    const Result<std::int64_t> offset = writer.clock_offset(source, first_start(source));
    if (!offset) return tl::unexpected<Error>(offset.error());
    const FoundSteps steps = find_steps(source, rules.grammar, writer.steps(), writer.next_step_id(), *offset, ledger);
    std::int64_t log = writer.next_log_id();
    for (LogLine& line : source.logs) line.id = log++;
    find_mentions(source, rules.requests);
    measure(source, *offset);

    BuildSummary summary;
    count_kinds(source, summary);
    summary.bound_kernels = bound.bound_kernels;
    summary.unbound_kernels = bound.unbound_kernels;
    summary.steps = steps.steps.size();
    summary.logs = source.logs.size();
    judge(source, summary, steps);

    if (Result<void> ok = write_tracks(source, writer, ledger, progress); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = writer.write_steps(steps.steps); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = writer.complete_source(source, ledger); !ok) return tl::unexpected<Error>(ok.error());
    return summary;
}

}  // namespace faultline
