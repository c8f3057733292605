// Events become spans, counters, names and links of a SourceBuilder (FORMATS §2.2–2.5, §3). One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/import_ledger.h"
#include "core/source_builder.h"
#include "importers/kineto/categories.h"
#include "importers/kineto/flow_events.h"
#include "importers/kineto/kineto_event.h"
#include "importers/kineto/name_cache.h"
#include "importers/kineto/paired_events.h"
#include "importers/kineto/row_names.h"
#include "importers/kineto/span_columns.h"
#include "importers/kineto/strict_json.h"
#include "importers/kineto/trace_rows.h"

namespace faultline::kineto {

class TraceBuilder final : public EventSink {
public:
    TraceBuilder(SourceBuilder& source, StrictJson& json, ImportLedger& ledger);

    bool accept(const KinetoEvent& event) override;
    /// After the last event: pairs, links, Python threads, names, and what needs the whole file to be known.
    void finish();

    /// Latest start of any event, where there is one.
    [[nodiscard]] std::optional<TimeNs> latest() const noexcept { return latest_; }
    [[nodiscard]] std::uint64_t without_phase() const noexcept { return without_phase_; }
    [[nodiscard]] bool met_accelerator_tasks() const noexcept { return accelerator_tasks_; }
    [[nodiscard]] bool met_framework_rows() const noexcept { return framework_rows_; }  ///< categories that only Kineto writes

private:
    bool usable_time(const KinetoEvent& event);
    void note_repairs(const KinetoEvent& event);
    void repaired(std::string_view code, std::string_view sentence, std::uint64_t offset);
    void complete(const KinetoEvent& event);
    void append(TrackBuffer& track, const KinetoEvent& event, SpanKind kind, bool on_device, HostRow* row);
    [[nodiscard]] bool look_at_arguments(const KinetoEvent& event);
    [[nodiscard]] bool on_device(const KinetoEvent& event, const Category& category) const noexcept;
    TimeNs duration_of(const KinetoEvent& event, std::uint32_t& flags);
    void instant(const KinetoEvent& event);
    void beginning(const KinetoEvent& event);
    void ending(const KinetoEvent& event);
    TrackBuffer& async_track(const KinetoEvent& event);
    [[nodiscard]] std::string async_key(const KinetoEvent& event) const;
    void counter(const KinetoEvent& event);
    void flow(const KinetoEvent& event);
    void unknown_phase(const KinetoEvent& event);

    void adopt_process();
    void undo_margins();
    void say_untimed();
    TrackBuffer& counter_track(ProcessId process, const std::string& name, std::uint64_t offset);

    SourceBuilder& source_;
    StrictJson& json_;
    ImportLedger& ledger_;
    Categories categories_;
    NameCache names_;
    TraceRows rows_;
    SpanColumns columns_;
    PairedEvents pairs_;
    FlowEvents flows_;
    RowNames row_names_;
    std::optional<TimeNs> latest_;
    std::uint64_t without_phase_ = 0;
    std::uint64_t untimed_ = 0;
    std::set<std::pair<ProcessId, std::string>> series_;  ///< counters with a track of their own
    bool fractional_ = false;  ///< times have decimals: a Kineto that writes margins (FORMATS §2.2)
    bool accelerator_tasks_ = false;
    bool framework_rows_ = false;
    bool repaired_now_ = false;              ///< the event at hand was counted as repaired
    const TrackBuffer* appended_ = nullptr;  ///< where the span of the event at hand lies, last
    RepairedSpans repaired_spans_;
    std::optional<TextId> rest_;       ///< of the event at hand: its arguments that became no column
    std::vector<JsonMember> members_;  ///< of the event at hand, where it is a counter or a name
};

}  // namespace faultline::kineto
