#include "core/capture_writer_state.h"

namespace faultline {

Result<void> CaptureWriter::State::write_names() {
    for (std::uint32_t i = names.stored; i < names.size(); ++i)
        if (Result<void> ok = statements.name.bind(1, std::int64_t{i}).bind(2, names.text(NameId{i})).run(); !ok) return ok;
    names.stored = names.size();
    return {};
}

Result<void> CaptureWriter::State::write_source_row(const SourceBuilder& source, const ImportLedger& ledger) {
    const Source& s = source.source;
    Result<sql::Statement> row = db.prepare("INSERT INTO source VALUES(?,?,?,?,?,?,?,?,?,?,?,?,1,?,?,?,?)");
    if (!row) return tl::unexpected<Error>(row.error());
    row->bind(1, std::int64_t{index_of(s.id)})
        .bind(2, std::string_view(s.path))
        .bind(3, std::string_view(s.format))
        .bind(4, std::string_view(s.producer));
    row->bind(5, std::string_view(s.host)).bind(6, s.rank).bind(7, std::string_view(s.rank_rule)).bind(8, s.world_size);
    row->bind(9, static_cast<std::int64_t>(s.bytes)).bind(10, static_cast<std::int64_t>(ledger.totals().read + ledger.totals().dropped));
    if (source.has_wall_clock) row->bind(11, source.clock_base_ns);
    row->bind(12, std::string_view(s.metadata));
    row->bind(13, s.clock_offset_ns).bind(14, s.clock_uncertainty_ns).bind(15, std::string_view(s.clock_rule)).bind(16, source.utc_offset_seconds);
    return row->run();
}

Result<void> CaptureWriter::State::write_objects(const SourceBuilder& source) {
    Result<sql::Statement> process = db.prepare("INSERT INTO process VALUES(?,?,?,?,?,?,?,?)");
    Result<sql::Statement> thread = db.prepare("INSERT INTO thread VALUES(?,?,?,?,?,?)");
    Result<sql::Statement> device = db.prepare("INSERT INTO device VALUES(?,?,?,?,?)");
    if (!process || !thread || !device) return tl::unexpected<Error>(db.last_error("writing the capture"));
    for (const Process& p : source.processes()) {
        process->bind(1, std::int64_t{index_of(p.id)})
            .bind(2, std::int64_t{index_of(p.source)})
            .bind(3, p.pid)
            .bind(4, std::string_view(p.pid_text));
        process->bind(5, std::string_view(p.name)).bind(6, std::string_view(p.labels)).bind(7, p.rank).bind(8, p.sort_index);
        if (Result<void> ok = process->run(); !ok) return ok;
    }
    for (const Thread& t : source.threads()) {
        thread->bind(1, std::int64_t{index_of(t.id)})
            .bind(2, std::int64_t{index_of(t.process)})
            .bind(3, t.tid)
            .bind(4, std::string_view(t.tid_text));
        thread->bind(5, std::string_view(t.name)).bind(6, t.sort_index);
        if (Result<void> ok = thread->run(); !ok) return ok;
    }
    for (const Device& d : source.devices()) {
        device->bind(1, std::int64_t{index_of(d.id)})
            .bind(2, std::int64_t{index_of(d.source)})
            .bind(3, d.ordinal)
            .bind(4, std::string_view(d.name))
            .bind(5, std::string_view(d.properties));
        if (Result<void> ok = device->run(); !ok) return ok;
    }
    next.process += static_cast<std::uint32_t>(source.processes().size());
    next.thread += static_cast<std::uint32_t>(source.threads().size());
    next.device += static_cast<std::uint32_t>(source.devices().size());
    next.track += static_cast<std::uint32_t>(source.tracks().size());
    return {};
}

Result<void> CaptureWriter::State::write_findings(const SourceBuilder& source, const ImportLedger& ledger) {
    const std::int64_t id = index_of(source.source.id);
    Result<sql::Statement> total = db.prepare("INSERT INTO ledger_total VALUES(?,?,?,?,?)");
    Result<sql::Statement> entry =
        db.prepare("INSERT INTO ledger_entry(source, outcome, code, sentence, count, samples) VALUES(?,?,?,?,?,?)");
    Result<sql::Statement> finding = db.prepare("INSERT INTO health(source, code, severity, sentence) VALUES(?,?,?,?)");
    if (!total || !entry || !finding) return tl::unexpected<Error>(db.last_error("writing the capture"));
    const LedgerTotals& t = ledger.totals();
    total->bind(1, id)
        .bind(2, static_cast<std::int64_t>(t.read))
        .bind(3, static_cast<std::int64_t>(t.repaired))
        .bind(4, static_cast<std::int64_t>(t.dropped));
    if (Result<void> ok = total->bind(5, static_cast<std::int64_t>(t.metadata)).run(); !ok) return ok;
    for (const LedgerEntry& e : ledger.entries()) {
        std::string samples;
        for (const std::string& s : e.samples) samples += (samples.empty() ? "" : "\n") + s;
        entry->bind(1, id)
            .bind(2, std::int64_t{static_cast<std::uint8_t>(e.outcome)})
            .bind(3, std::string_view(e.code))
            .bind(4, std::string_view(e.sentence));
        if (Result<void> ok = entry->bind(5, static_cast<std::int64_t>(e.count)).bind(6, std::string_view(samples)).run(); !ok) return ok;
    }
    for (const HealthFinding& h : source.health) {
        finding->bind(1, id)
            .bind(2, std::string_view(h.code))
            .bind(3, std::int64_t{static_cast<std::uint8_t>(h.severity)})
            .bind(4, std::string_view(h.sentence));
        if (Result<void> ok = finding->run(); !ok) return ok;
    }
    return {};
}

Result<void> CaptureWriter::State::write_logs(SourceBuilder& source) {
    if (source.logs.empty()) return {};
    Result<sql::Statement> row = db.prepare(
        "INSERT INTO log(id, source, time_ns, process, rank, level, logger, text, method, resolution_ns, offset)"
        " VALUES(?,?,?,?,?,?,?,?,'none',?,?)");
    if (!row) return tl::unexpected<Error>(row.error());
    for (const LogLine& line : source.logs) {
        row->bind(1, line.id).bind(2, std::int64_t{index_of(source.source.id)}).bind(3, line.time);
        row->bind(4, line.process ? std::optional<std::int64_t>(index_of(*line.process)) : std::nullopt).bind(5, line.rank);
        row->bind(6, std::string_view(line.level)).bind(7, std::string_view(line.logger)).bind(8, std::string_view(line.text));
        row->bind(9, line.resolution_ns).bind(10, static_cast<std::int64_t>(line.offset));
        if (Result<void> ok = row->run(); !ok) return ok;
    }
    next_log += static_cast<std::int64_t>(source.logs.size());
    return {};
}

Result<void> CaptureWriter::State::write_mentions(const SourceBuilder& source) {
    if (source.mentions.empty()) return {};
    Result<sql::Statement> row = db.prepare(
        "INSERT INTO request_mention(source, request, event, time_ns, resolution_ns, end_ns, step, span, log, prompt_tokens, output_tokens,"
        " ttft_ns, latency_ns) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    if (!row) return tl::unexpected<Error>(row.error());
    for (const RequestMention& m : source.mentions) {
        row->bind(1, std::int64_t{index_of(source.source.id)}).bind(2, std::string_view(m.request));
        row->bind(3, std::int64_t{static_cast<std::uint8_t>(m.event)}).bind(4, m.time).bind(5, m.resolution_ns);
        if (m.time) row->bind(6, m.end);
        row->bind(7, m.step ? std::optional<std::int64_t>(index_of(*m.step)) : std::nullopt);
        if (m.span.valid()) row->bind(8, m.span.value);
        if (m.log != 0) row->bind(9, m.log);
        row->bind(10, m.prompt_tokens).bind(11, m.output_tokens).bind(12, m.ttft_ns).bind(13, m.latency_ns);
        if (Result<void> ok = row->run(); !ok) return ok;
        for (int i : {6, 8, 9}) row->bind_null(i);
    }
    return {};
}

Result<void> CaptureWriter::State::write_samples(const SourceBuilder& source) {
    if (source.stack_samples.empty()) return {};
    Result<sql::Statement> row =
        db.prepare("INSERT INTO stack_sample(source, time_ns, process, thread, stack, weight_ns, owns_gil) VALUES(?,?,?,?,?,?,?)");
    if (!row) return tl::unexpected<Error>(row.error());
    const auto id_or_null = [](const auto& id) { return id ? std::optional<std::int64_t>(index_of(*id)) : std::nullopt; };
    for (const StackSample& s : source.stack_samples) {
        row->bind(1, std::int64_t{index_of(source.source.id)}).bind(2, s.time).bind(3, id_or_null(s.process));
        row->bind(4, id_or_null(s.thread)).bind(5, std::string_view(s.stack)).bind(6, s.weight_ns);
        row->bind(7, s.owns_gil ? std::optional<std::int64_t>(*s.owns_gil) : std::nullopt);
        if (Result<void> ok = row->run(); !ok) return ok;
    }
    return {};
}

}  // namespace faultline
