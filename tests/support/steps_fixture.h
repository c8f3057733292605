// Sources made by hand, and the steps that are found in them. For tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/find_steps.h"
#include "core/launch_binding.h"
#include "core/nesting.h"

namespace faultline::test {

struct StepsFixture {
    explicit StepsFixture(std::uint32_t source_number = 1, std::uint32_t first_track = 1)
        : source(SourceId{source_number}, {1, 1, 1, first_track}, names, texts) {}

    InternedNames names;
    InternedTexts texts;
    SourceBuilder source;
    ImportLedger ledger;
    std::int64_t correlation = 0;

    void host(SpanKind kind, std::string_view name, TimeNs start, TimeNs end, int pid = 1, int tid = 1) {
        source.host_track(source.thread(source.process(pid), tid)).append(start, end - start, names.intern(name), kind);
    }
    void range(std::string_view name, TimeNs start, TimeNs end, int pid = 1, int tid = 1) {
        host(SpanKind::range, name, start, end, pid, tid);
    }

    struct Work {
        TimeNs start, end;
        std::string_view name = "gemm";
        SpanKind kind = SpanKind::kernel;
        int device = 0;
        std::int64_t stream = 7;
    };
    /// A call of 5 ns and what it launches.
    void launch(TimeNs at, const std::vector<Work>& work, int pid = 1, int tid = 1, std::string_view call = "cudaLaunchKernel") {
        TrackBuffer& t = source.host_track(source.thread(source.process(pid), tid));
        t.set(t.append(at, 5, names.intern(call), SpanKind::runtime_call), Column::correlation, ++correlation);
        for (const Work& w : work) {
            TrackBuffer& d = source.device_track(source.device(w.device), w.stream, source.process(pid));
            d.set(d.append(w.start, w.end - w.start, names.intern(w.name), w.kind), Column::correlation, correlation);
        }
    }
    void copy_out(TimeNs at, TimeNs start, TimeNs end) {
        launch(at, {{start, end, "Memcpy DtoH (Device -> Pinned)", SpanKind::memory_copy}});
    }
    void unlaunched(TimeNs start, TimeNs end, std::string_view name) {
        TrackBuffer& d = source.device_track(source.device(0), 7);
        d.set(d.append(start, end - start, names.intern(name), SpanKind::kernel), Column::correlation, 1'000'000 + ++correlation);
    }

    FoundSteps find(const std::vector<Step>& known = {}, std::int64_t next_id = 1, std::int64_t offset = 0) {
        sort_and_nest(source, ledger, {});
        (void)bind_launches(source, ledger);
        return find_steps(source, StepGrammar::built_in(), known, next_id, offset, ledger);
    }
    /// Step of the span of that name that starts then; -1 without a step, -2 where there is no such span.
    std::int64_t step_at(std::string_view name, TimeNs start) {
        for (const TrackBuffer& t : source.tracks())
            for (std::uint32_t i = 0; i < t.size(); ++i)
                if (t.starts[i] == start && names.text(t.names[i]) == name)
                    return t.get(i, Column::step) == kNull ? -1 : t.get(i, Column::step);
        return -2;
    }
    bool noted(std::string_view code) const {
        for (const LedgerEntry& e : ledger.entries())
            if (e.code == code && e.outcome == LedgerOutcome::note) return true;
        return false;
    }
};

inline constexpr const char* kDecode = "execute_context_0(0)_generation_2(2)";

inline std::vector<std::int64_t> ids(const FoundSteps& found) {
    std::vector<std::int64_t> all;
    for (const Step& s : found.steps) all.push_back(index_of(s.id));
    return all;
}

/// A rank that runs `steps` decode steps of 100 ns from `start` on.
inline void decode_steps(StepsFixture& f, int steps, TimeNs start, std::optional<std::int64_t> rank) {
    f.source.source.rank = rank;
    for (int i = 0; i < steps; ++i) {
        const TimeNs at = start + 1000 * i;
        f.range(kDecode, at, at + 100);
        f.launch(at + 10, {{at + 20, at + 900}});
    }
}

}  // namespace faultline::test
