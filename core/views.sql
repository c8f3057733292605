-- The views of a capture, made as TEMP views on every connection: nothing executable is stored in the file.
-- `span` is the virtual table over the packed spans (span_table.h); `main.` are the tables of schema.sql, whose names are singular.
-- Times are integer nanoseconds since the zero of the capture. A process or thread is shown by its name and number.

-- Device kernels. `launch` is the id in api_calls of the call that launched it, NULL where it is unbound; the thread is that of the
-- launch. `correlation` is unique within a process only. `gap_ns` is how long its lane was idle before it, NULL for the first.
CREATE TEMP VIEW IF NOT EXISTS kernels AS
SELECT id, start_ns, duration_ns, end_ns, name, source, process, thread, rank, step, device, stream, correlation, launch,
       family, (SELECT text FROM main.name WHERE id = mangled_name_id) AS mangled_name, gap_ns, graph_node,
       graph_id, track, lane, external_id, name_id, flags, pid, tid, args
FROM span WHERE kind = 'kernel';

-- CUDA, HIP and other vendors' runtime and driver calls. `result` is the return code, NULL where the source does not say.
CREATE TEMP VIEW IF NOT EXISTS api_calls AS
SELECT id, start_ns, duration_ns, end_ns, name, source, process, thread, rank, step, correlation, result, kind, parent, depth,
       graph_launch, track, external_id, name_id, flags, pid, tid, args
FROM span WHERE kind IN ('runtime_call', 'driver_call');

-- Ranges of host threads: NVTX and user annotations. `parent` is the id of the enclosing span of any kind. The `device_` columns project a
-- range on the devices: from the start of the first work launched inside it to the end of the last, NULL where it launched none.
CREATE TEMP VIEW IF NOT EXISTS ranges AS
SELECT id, start_ns, duration_ns, end_ns, name, source, process, thread, rank, step, parent, depth, track, external_id,
       name_id, flags, pid, tid, args, start_ns + device_delay_ns AS device_start_ns, device_duration_ns, device_busy_ns,
       device_count,
       category, (SELECT text FROM main.name WHERE id = domain_id) AS domain, payload
FROM span WHERE kind = 'range';

-- Framework operators. `sequence` is the autograd number; `link` the forward operator of a backward one.
CREATE TEMP VIEW IF NOT EXISTS ops AS
SELECT id, start_ns, duration_ns, end_ns, name, source, process, thread, rank, step, parent, depth, sequence, link, track, external_id,
       name_id, flags, pid, tid, args
FROM span WHERE kind = 'op';

-- Copies and fills on a device. `kind` is memory_copy or memory_set; `bandwidth` is GB/s as the source says.
CREATE TEMP VIEW IF NOT EXISTS memory_copies AS
SELECT id, start_ns, duration_ns, end_ns, name, source, process, thread, rank, step, device, stream, bytes, kind, bandwidth, correlation,
       launch, track, external_id, name_id, flags, pid, tid, args
FROM span WHERE kind IN ('memory_copy', 'memory_set');

-- Communication, by name or arguments: kernels and the host operators around them (`span_kind` tells them apart). `kind` is the
-- operation, by the name in the arguments where it stands there, `bytes` the size of the message, `group_size` the ranks that take part.
CREATE TEMP VIEW IF NOT EXISTS collectives AS
SELECT id, start_ns, duration_ns, end_ns, name, source, process, thread, rank, step, comm_bytes AS bytes, group_size,
       CASE
           WHEN what LIKE '%all%reduce%' THEN 'all_reduce'
           WHEN what LIKE '%reduce%scatter%' THEN 'reduce_scatter'
           WHEN what LIKE '%all%gather%' THEN 'all_gather'
           WHEN what LIKE '%all%to%all%' OR what LIKE '%all2all%' THEN 'all_to_all'
           WHEN what LIKE '%broadcast%' THEN 'broadcast'
           WHEN what LIKE '%send%recv%' THEN 'send_receive'
           WHEN what LIKE '%barrier%' THEN 'barrier'
           WHEN what LIKE '%gather%' THEN 'gather'
           WHEN what LIKE '%scatter%' THEN 'scatter'
           WHEN what LIKE '%reduce%' THEN 'reduce'
           WHEN what LIKE '%recv%' THEN 'receive'
           WHEN what LIKE '%send%' THEN 'send'
           ELSE 'other'
       END AS kind,
       kind AS span_kind, device, stream, comm_sequence, correlation, launch, parent, depth, track, external_id, name_id, flags,
       pid, tid, args
FROM (SELECT *, collective, comm_bytes, group_size, comm_sequence,
             CASE WHEN json_valid(args) THEN coalesce(json_extract(args, '$."Collective name"'), name) ELSE name END AS what
      FROM span)
WHERE collective = 1;

-- Steps of the engine, first to last, and stalls. `ranks`, `requests` and `reasons` are JSON arrays. `expected_ns` is what the roofline of
-- the instance and phase says for the step's tokens, `sentence` the strongest reason where the step is an outlier.
CREATE TEMP VIEW IF NOT EXISTS steps AS
SELECT s.id, s.start_ns, s.end_ns - s.start_ns AS duration_ns, s.end_ns, s.name,
       (SELECT min(source) FROM main.step_span WHERE step = s.id) AS source,
       (SELECT process FROM span WHERE id = (SELECT min(span) FROM main.step_span WHERE step = s.id)) AS process,
       (SELECT thread FROM span WHERE id = (SELECT min(span) FROM main.step_span WHERE step = s.id)) AS thread,
       (SELECT CASE WHEN count(*) = 1 THEN min(rank) END FROM main.step_rank WHERE step = s.id) AS rank,
       s.id AS step,
       CASE s.kind WHEN 1 THEN 'stall' ELSE 'step' END AS kind,
       CASE s.phase WHEN 0 THEN 'prefill' WHEN 1 THEN 'decode' WHEN 2 THEN 'mixed' ELSE 'other' END AS phase,
       s.host_ns, s.inferred, s.tokens, s.batch, s.instance,
       (SELECT json_group_array(rank) FROM (SELECT rank FROM main.step_rank WHERE step = s.id ORDER BY rank)) AS ranks,
       (SELECT json_group_array(request)
        FROM (SELECT r.request FROM main.request_step AS rs JOIN main.request AS r ON r.id = rs.request
              WHERE rs.step = s.id ORDER BY r.id)) AS requests,
       v.expected_ns, v.ratio, v.outlier,
       (SELECT json_group_array(word)
        FROM (SELECT 1 AS bit, 'slow' AS word UNION ALL SELECT 2, 'structure' UNION ALL SELECT 4, 'contradiction'
              UNION ALL SELECT 8, 'stall' UNION ALL SELECT 16, 'slo')
        WHERE v.reasons & bit) AS reasons,
       CASE v.bound WHEN 1 THEN 'cpu' WHEN 2 THEN 'gpu' WHEN 3 THEN 'communication' WHEN 4 THEN 'balanced' ELSE 'unknown' END AS bound,
       s.kernel_busy_ns, s.kernels, s.dialect, s.number, s.context_requests, s.context_tokens, s.generation_requests, s.generation_tokens,
       v.rule, v.sentence
FROM main.step AS s LEFT JOIN main.step_verdict AS v ON v.step = s.id;

-- Requests that were served. `ttft_ns` is the time to the first token, `tpot_ns` the time per token after it.
CREATE TEMP VIEW IF NOT EXISTS requests AS
SELECT r.request AS id, r.arrival_ns AS start_ns, r.end_ns - r.arrival_ns AS duration_ns, r.request AS name,
       NULL AS source, NULL AS process, NULL AS thread, NULL AS rank,
       (SELECT min(step) FROM main.request_step WHERE request = r.id) AS step,
       r.arrival_ns, r.first_token_ns, r.end_ns, r.ttft_ns, r.tpot_ns,
       (SELECT json_group_array(step) FROM (SELECT step FROM main.request_step WHERE request = r.id ORDER BY step)) AS steps,
       (SELECT json_group_array(instance)
        FROM (SELECT DISTINCT s.instance FROM main.request_step AS rs JOIN main.step AS s ON s.id = rs.step
              WHERE rs.request = r.id ORDER BY 1)) AS instances,
       r.prompt_tokens, r.output_tokens, r.aborted, r.timing_rule
FROM main.request AS r;

-- Every place that names a request: a span or a log message. `id` is the request as written there.
CREATE TEMP VIEW IF NOT EXISTS request_mentions AS
SELECT m.request AS id, m.time_ns + src.clock_offset_ns AS start_ns, m.end_ns - m.time_ns AS duration_ns,
       CASE m.event WHEN 1 THEN 'arrival' WHEN 2 THEN 'in_step' WHEN 3 THEN 'first_token' WHEN 4 THEN 'finished' WHEN 5 THEN 'aborted'
           WHEN 6 THEN 'preempted' ELSE 'mention' END AS name,
       m.source, m.step, m.span, m.log, m.prompt_tokens, m.output_tokens, m.ttft_ns, m.latency_ns
FROM main.request_mention AS m JOIN main.source AS src ON src.id = m.source;

-- The lines that steps are judged by: expected = intercept_ns + slope_ns * tokens.
CREATE TEMP VIEW IF NOT EXISTS rooflines AS
SELECT f.id, f.instance, CASE f.phase WHEN 0 THEN 'prefill' WHEN 1 THEN 'decode' WHEN 2 THEN 'mixed' ELSE 'other' END AS phase, f.rule,
       f.intercept_ns, f.slope_ns, f.steps, f.buckets, f.r2
FROM main.roofline AS f;

-- Which request took part in which step.
CREATE TEMP VIEW IF NOT EXISTS request_steps AS
SELECT r.request, rs.step, s.start_ns, s.end_ns - s.start_ns AS duration_ns, s.name
FROM main.request_step AS rs JOIN main.request AS r ON r.id = rs.request JOIN main.step AS s ON s.id = rs.step;

-- Log messages, continuation lines joined. `method` says how a line was aligned: by request, by time, or not at all.
CREATE TEMP VIEW IF NOT EXISTS logs AS
SELECT l.id, l.time_ns + src.clock_offset_ns AS start_ns, 0 AS duration_ns, l.logger AS name, l.source,
       p.process, NULL AS thread, coalesce(l.rank, p.rank, src.rank) AS rank, l.step,
       l.level, l.logger, l.request, l.text, l.method, l.distance_ns
FROM main.log AS l JOIN main.source AS src ON src.id = l.source LEFT JOIN processes AS p ON p.id = l.process;

-- Stack samples of threads; frames from the outermost in, separated by semicolons.
CREATE TEMP VIEW IF NOT EXISTS stack_samples AS
SELECT x.id, x.time_ns + src.clock_offset_ns AS start_ns, coalesce(x.weight_ns, 0) AS duration_ns,
       x.stack AS name, x.source, p.process, t.thread, coalesce(p.rank, src.rank) AS rank, NULL AS step,
       x.stack, x.weight_ns, x.owns_gil
FROM main.stack_sample AS x JOIN main.source AS src ON src.id = x.source LEFT JOIN processes AS p ON p.id = x.process
     LEFT JOIN threads AS t ON t.id = x.thread;

-- Idle gaps of devices and what caused them.
CREATE TEMP VIEW IF NOT EXISTS bubbles AS
SELECT b.id, b.start_ns, b.duration_ns, b.cause AS name, d.source, NULL AS process, NULL AS thread, src.rank, b.step,
       d.ordinal AS device, b.host_span, b.cause, b.stack
FROM main.bubble AS b JOIN main.device AS d ON d.id = b.device JOIN main.source AS src ON src.id = d.source;

-- What a person wrote.
CREATE TEMP VIEW IF NOT EXISTS notes AS
SELECT n.id, n.start_ns, n.duration_ns, n.text AS name, NULL AS source, NULL AS process, NULL AS thread, NULL AS rank, n.step,
       n.span, n.text, n.created_ns
FROM main.note AS n;

-- What was said about steps; `answer` is the whole answer as JSON.
CREATE TEMP VIEW IF NOT EXISTS diagnoses AS
SELECT d.id, s.start_ns, s.end_ns - s.start_ns AS duration_ns, s.name, NULL AS source, NULL AS process, NULL AS thread, NULL AS rank, d.step,
       d.fault_type, d.confidence, d.answer, d.model
FROM main.diagnosis AS d LEFT JOIN main.step AS s ON s.id = d.step;

-- Why records were repaired or dropped while importing, and what else should be known; `samples` are the first places, one a line.
CREATE TEMP VIEW IF NOT EXISTS ledger AS
SELECT e.id, e.source, CASE e.outcome WHEN 0 THEN 'repaired' WHEN 1 THEN 'dropped' ELSE 'note' END AS outcome, e.code, e.sentence, e.count,
       e.samples
FROM main.ledger_entry AS e;

-- Imported files, with the totals of their ledgers.
CREATE TEMP VIEW IF NOT EXISTS sources AS
SELECT s.id, s.path AS name, s.path, s.format, s.producer, s.host, s.rank, s.rank_rule, s.world_size, s.bytes, s.events, t.read, t.repaired,
       t.dropped, t.metadata AS metadata_records, s.clock_base_ns, s.clock_offset_ns, s.clock_uncertainty_ns, s.clock_rule, s.metadata
FROM main.source AS s LEFT JOIN main.ledger_total AS t ON t.source = s.id;

-- Processes; `process` is the text that the other views show.
CREATE TEMP VIEW IF NOT EXISTS processes AS
SELECT p.id, p.source, CASE WHEN p.pid_text = '' THEN p.pid END AS pid, p.name,
       CASE
           WHEN p.name = '' THEN iif(p.pid_text = '', p.pid, p.pid_text) || ''
           WHEN instr(p.name, iif(p.pid_text = '', p.pid, p.pid_text)) THEN p.name
           ELSE p.name || ' (' || iif(p.pid_text = '', p.pid, p.pid_text) || ')'
       END AS process,
       p.labels, coalesce(p.rank, s.rank) AS rank, s.host
FROM main.process AS p JOIN main.source AS s ON s.id = p.source;

-- Threads; `process` and `thread` are the texts that the other views show.
CREATE TEMP VIEW IF NOT EXISTS threads AS
SELECT t.id, p.source, p.process, p.rank, CASE WHEN t.tid_text = '' THEN t.tid END AS tid, t.name,
       CASE
           WHEN t.name = '' THEN iif(t.tid_text = '', t.tid, t.tid_text) || ''
           WHEN instr(t.name, iif(t.tid_text = '', t.tid, t.tid_text)) THEN t.name
           ELSE t.name || ' (' || iif(t.tid_text = '', t.tid, t.tid_text) || ')'
       END AS thread
FROM main.thread AS t JOIN processes AS p ON p.id = t.process;

-- Accelerators; `device` is the number that the other views show.
CREATE TEMP VIEW IF NOT EXISTS devices AS
SELECT d.id, d.source, d.ordinal AS device, d.name, s.rank, s.host, d.properties
FROM main.device AS d JOIN main.source AS s ON s.id = d.source;
