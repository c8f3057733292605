#include "importers/kineto/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/span_place.h"
#include "importers/kineto/number_text.h"
#include "importers/kineto/python_threads.h"

namespace faultline::kineto {

namespace {

/// Times and ends stay below this, so that no difference of two of them overflows (year 2116).
constexpr TimeNs kMostTime = TimeNs{1} << 62;

std::string at_byte(std::uint64_t offset) { return fmt::format("byte {}", offset); }

bool is_memory_event(std::string_view name) noexcept { return name == "[memory]"; }

}  // namespace

TraceBuilder::TraceBuilder(SourceBuilder& source, StrictJson& json, ImportLedger& ledger)
    : source_(source),
      json_(json),
      ledger_(ledger),
      names_(source, json),
      rows_(source),
      columns_(source, json),
      flows_(source, rows_, ledger) {}

bool TraceBuilder::accept(const KinetoEvent& event) {
    if (!look_at_arguments(event) && !event.final) return false;
    repaired_now_ = false;
    appended_ = nullptr;
    const std::uint64_t read_before = ledger_.totals().read;
    switch (event.phase) {
        case 'X': complete(event); break;
        case 's':
        case 't':
        case 'f': flow(event); break;
        case 'i':
        case 'I':
        case 'R': instant(event); break;
        case 'B':
        case 'b':
        case 'S': beginning(event); break;
        case 'E':
        case 'e':
        case 'F': ending(event); break;
        case 'n':
        case 'T':
        case 'p': instant(event); break;
        case 'C': counter(event); break;
        case 'M':
            ledger_.add_metadata();
            if (!row_names_.take(event, members_))
                ledger_.note("kineto.metadata", "A metadata event says something that is not known",
                             fmt::format("{} at byte {}", event.name, event.offset));
            break;
        case '\0':
            ++without_phase_;
            ledger_.dropped("kineto.no-phase", "A record has no phase (\"ph\") and is no trace event", at_byte(event.offset));
            break;
        default: unknown_phase(event); break;
    }
    if (event.repairs.any() && ledger_.totals().read > read_before) note_repairs(event);
    if (repaired_now_ && appended_ != nullptr) repaired_spans_.emplace(appended_, appended_->size() - 1);
    return true;
}

/// Takes the arguments apart as the event's phase needs them. False where they are no JSON.
bool TraceBuilder::look_at_arguments(const KinetoEvent& event) {
    rest_ = TextId{};
    switch (event.phase) {
        case 'C':
        case 'M': members_ = json_.members(event.args); return !members_.empty() || event.args.size() <= 2 || json_.valid(event.args);
        case 's':
        case 't':
        case 'f':
        case 'E':
        case 'e':
        case 'F': return true;
        case 'X': rest_ = columns_.rest(event, on_device(event, categories_.find(event.category))); break;
        default: rest_ = columns_.rest(event, false); break;
    }
    return rest_.has_value();
}

bool TraceBuilder::on_device(const KinetoEvent& event, const Category& category) const noexcept {
    return category.place == Place::device || category.place == Place::device_ranges ||
           (category.place == Place::device_or_host && event.device != kNull) || (event.accelerator_task && event.category.empty());
}

void TraceBuilder::unknown_phase(const KinetoEvent& event) {
    ledger_.add_read();
    ledger_.note(fmt::format("kineto.phase-{}", event.phase), fmt::format("Events of phase {} were read and are not shown", event.phase),
                 at_byte(event.offset));
}

void TraceBuilder::repaired(std::string_view code, std::string_view sentence, std::uint64_t offset) {
    ledger_.repaired(code, sentence, at_byte(offset), repaired_now_);
    repaired_now_ = true;
}

void TraceBuilder::note_repairs(const KinetoEvent& event) {
    const TextRepairs& made = event.repairs;  // of an event that was counted as read
    if (made.encoding) repaired("kineto.encoding", "Text that is no UTF-8 was repaired with replacement characters", event.offset);
    if (made.controls) repaired("kineto.control-bytes", "Control bytes inside an event were escaped or blanked", event.offset);
    if (made.escapes) repaired("kineto.bad-escape", "Backslashes that begin no escape were taken as they stand", event.offset);
    if (made.numbers) repaired("kineto.bare-nan", "Bare nan or inf stand where JSON wants a number; they were read as text", event.offset);
    if (made.quotes) repaired("kineto.bare-quote", "Quotes inside a text were not escaped; they were taken as part of it", event.offset);
}

bool TraceBuilder::usable_time(const KinetoEvent& event) {
    if (event.has_time && event.time < kMostTime && event.time > -kMostTime) {
        fractional_ |= event.fractional;
        if (!latest_ || event.time > *latest_) latest_ = event.time;
        return true;
    }
    ledger_.dropped("kineto.no-time", "An event has no usable time (\"ts\") and cannot be placed", at_byte(event.offset));
    return false;
}

TimeNs TraceBuilder::duration_of(const KinetoEvent& event, std::uint32_t& flags) {
    if (!event.has_duration || event.duration >= kMostTime - std::max<TimeNs>(event.time, 0)) {
        flags |= flag_no_duration;
        repaired("kineto.no-duration", "A span has no usable duration (\"dur\"); it was kept with length 0", event.offset);
        return 0;
    }
    if (event.duration < 0) {
        flags |= flag_negative;
        repaired("kineto.negative-duration", "A span has a negative duration; it was kept with length 0", event.offset);
        return 0;
    }
    return event.duration;
}

// ---- spans ----

void TraceBuilder::complete(const KinetoEvent& event) {
    if (!usable_time(event)) return;
    ledger_.add_read();
    const Category& category = categories_.find(event.category);
    if (category.place == Place::device_ranges) {
        append(rows_.ranges(rows_.device(event)), event, category.kind, true, nullptr);
    } else if (on_device(event, category)) {
        accelerator_tasks_ |= event.accelerator_task;
        const SpanKind kind = event.accelerator_task && event.category.empty() ? SpanKind::accelerator : category.kind;
        append(rows_.work(rows_.device(event)), event, kind, true, nullptr);
    } else if (category.place == Place::window) {
        append(source_.marks_track(std::nullopt, event.tid.kind == RowId::Kind::text ? event.tid.text : "profiler"), event, category.kind,
               false, nullptr);
    } else if (category.kind == SpanKind::overhead && event.pid.kind == RowId::Kind::number && event.pid.number < 0) {
        append(source_.marks_track(std::nullopt, "profiler overhead"), event, category.kind, false, nullptr);
    } else {
        HostRow& row = rows_.host(event.pid, event.tid);
        append(*row.track, event, category.kind == SpanKind::accelerator ? SpanKind::op : category.kind, false, &row);
    }
    framework_rows_ |= category.kind == SpanKind::op || category.kind == SpanKind::kernel || category.kind == SpanKind::window;
}

void TraceBuilder::append(TrackBuffer& track, const KinetoEvent& event, SpanKind kind, bool on_device, HostRow* row) {
    std::uint32_t flags = 0;
    const TimeNs duration = duration_of(event, flags);
    // Kernels whose times were not collected come with 0 for both.
    if (on_device && event.time == 0 && duration == 0 && event.has_duration) {
        flags |= flag_no_time;
        ++untimed_;
        repaired("kineto.no-kernel-time",
                 "A device record has no times (0 for start and duration); it was kept with length 0 at the start of its row",
                 event.offset);
    }
    if (event.repairs.encoding) flags |= flag_renamed;
    const std::uint32_t at = track.append(event.time, duration, names_.find(event.name), kind);
    SpanColumns::set(track, at, event, rest_.value_or(TextId{}));
    if (!rest_) repaired("kineto.bad-args", "Arguments of an event are no valid JSON and were left out", event.offset);
    if (flags != 0) track.set(at, Column::flags, flags);
    appended_ = &track;
    const bool correlated = event.correlation != kNull;
    flows_.span_appended(event.time, correlated);
    if (!correlated && (is_device_work(kind) || is_api_call(kind))) flows_.needs_correlation();
    if (row == nullptr) return;
    row->has_calls |= is_api_call(kind);
    row->has_frames |= kind == SpanKind::python;
}

void TraceBuilder::instant(const KinetoEvent& event) {
    if (!usable_time(event)) return;
    ledger_.add_read();
    const bool async = event.phase == 'n' || event.phase == 'T' || event.phase == 'p';
    TrackBuffer* track = nullptr;
    if (async)
        track = &async_track(event);
    else if (event.scope == 'g')
        track = &source_.marks_track(std::nullopt, "marks");
    else if (event.scope == 'p')
        track = &source_.marks_track(rows_.process(event.pid), "marks");
    else
        track = rows_.host(event.pid, event.tid).track;
    KinetoEvent point = event;
    point.duration = 0;
    point.has_duration = true;
    append(*track, point, is_memory_event(event.name) ? SpanKind::memory_event : SpanKind::instant, false, nullptr);
}

// ---- beginnings and ends ----

TrackBuffer& TraceBuilder::async_track(const KinetoEvent& event) {
    const std::string_view category = event.category.empty() ? std::string_view("async") : event.category;
    return source_.marks_track(rows_.process(event.pid), category);
}

/// b/n/e belong together by category and id; the older S/T/p/F by name too.
std::string TraceBuilder::async_key(const KinetoEvent& event) const {
    if (event.phase == 'b' || event.phase == 'e') return std::string(event.id);
    return fmt::format("{}\n{}", event.id, event.name);
}

void TraceBuilder::beginning(const KinetoEvent& event) {
    if (!usable_time(event)) return;
    ledger_.add_read();
    KinetoEvent open = event;
    open.duration = 0;
    open.has_duration = true;
    if (event.phase == 'B') {
        HostRow& row = rows_.host(event.pid, event.tid);
        const Category& category = categories_.find(event.category);
        append(*row.track, open, category.place == Place::host ? category.kind : SpanKind::other, false, &row);
        pairs_.begin(*row.track, "", row.track->size() - 1, event.offset);
        return;
    }
    TrackBuffer& track = async_track(event);
    append(track, open, SpanKind::async, false, nullptr);
    pairs_.begin(track, async_key(event), track.size() - 1, event.offset);
}

void TraceBuilder::ending(const KinetoEvent& event) {
    if (!usable_time(event)) return;
    const bool named = !event.name.empty() && event.phase == 'E';
    TrackBuffer& track = event.phase == 'E' ? *rows_.host(event.pid, event.tid).track : async_track(event);
    pairs_.end(track, event.phase == 'E' ? std::string() : async_key(event), event.time, named ? names_.find(event.name) : NameId{}, named,
               event.offset);
}

// ---- everything else ----

void TraceBuilder::counter(const KinetoEvent& event) {
    if (!usable_time(event)) return;
    ledger_.add_read();
    std::string base = json_.unescaped(event.name);
    if (!event.id.empty()) base += fmt::format(" #{}", event.id);
    const ProcessId process = rows_.process(event.pid);
    bool any = false;
    for (const JsonMember& member : members_) {
        const bool numeric = member.kind == JsonMember::Kind::number || member.kind == JsonMember::Kind::text;
        const std::optional<double> value = numeric ? real_number(member.text) : std::nullopt;
        if (!value) continue;
        const std::string name = member.key.empty() ? base : base + " " + member.key;
        TrackBuffer& track = counter_track(process, name, event.offset);
        const std::uint32_t at = track.append(event.time, 0, source_.name(name), SpanKind::counter);
        track.set(at, Column::value, std::bit_cast<std::int64_t>(*value));
        any = true;
    }
    if (!any) ledger_.note("kineto.empty-counter", "A counter event has no number in it", at_byte(event.offset));
}

/// A track for each series, while they can be told apart on a screen; a row of its own costs a kilobyte.
TrackBuffer& TraceBuilder::counter_track(ProcessId process, const std::string& name, std::uint64_t offset) {
    constexpr std::size_t kMostSeries = 10'000;
    if (series_.size() < kMostSeries || series_.contains({process, name})) {
        series_.emplace(process, name);
        return source_.counter_track(process, name);
    }
    ledger_.note("kineto.many-counters", "The trace has more than 10,000 counter series; the samples of the others lie on one row of marks",
                 at_byte(offset));
    return source_.marks_track(process, "more counters");
}

void TraceBuilder::flow(const KinetoEvent& event) {
    if (!usable_time(event)) return;
    ledger_.add_read();
    flows_.take(event, categories_.find(event.category));
}

// ---- after the last event ----

void TraceBuilder::finish() {
    pairs_.resolve(ledger_, repaired_spans_);
    flows_.resolve();
    adopt_process();
    if (fractional_) undo_margins();
    if (untimed_ > 0) say_untimed();
    split_python_threads(source_, rows_);
    row_names_.apply(source_, rows_);
}

/// Device rows carry no process. Where one process made all the calls, they are its; else the binding by correlation decides.
void TraceBuilder::adopt_process() {
    std::optional<ProcessId> owner;
    for (const HostRow& row : rows_.hosts()) {
        if (!row.has_calls) continue;
        if (owner && *owner != row.process) return;
        owner = row.process;
    }
    if (!owner) return;
    for (DeviceRow& row : rows_.devices())
        for (TrackBuffer* track : {row.work, row.ranges})
            if (track != nullptr) track->track.process = owner;
}

/// Kineto widens annotations on devices by 1 ns on either side, so that viewers nest their kernels in them.
void TraceBuilder::undo_margins() {
    for (DeviceRow& row : rows_.devices()) {
        if (row.ranges == nullptr) continue;
        TrackBuffer& track = *row.ranges;
        for (std::uint32_t i = 0; i < track.size(); ++i) {
            if (track.kinds[i] != SpanKind::device_range || track.durations[i] < 2) continue;
            track.starts[i] += 1;
            track.durations[i] -= 2;
            track.add_flag(i, flag_margin_undone);
            ledger_.repaired("kineto.margin", "The margin of 1 ns around an annotation on a device was taken off",
                             span_place(source_.names().text(track.names[i]), track.starts[i]), !repaired_spans_.emplace(&track, i).second);
        }
    }
}

/// Records without times go to the earliest start of their row, or of the whole trace where the row has none.
void TraceBuilder::say_untimed() {
    source_.health.push_back({"kernels.no-time", Severity::warning,
                              fmt::format("{} device records have no times: the profiler did not collect them. They are counted and shown "
                                          "with length 0; capture again with another version of the profiler.",
                                          untimed_)});
}

}  // namespace faultline::kineto
