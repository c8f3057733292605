-- The tables of a .faultline capture (format version 2). Nothing executable is stored: views are made on each connection.
-- Times are integer nanoseconds. "Source clock" times become capture times by adding the offset of their track.

-- One row: what the capture as a whole says.
CREATE TABLE capture (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    created_by TEXT NOT NULL,          -- program and version that made the file
    zero_wall_ns INTEGER,              -- wall clock (epoch ns) of capture time 0; NULL where no source has a wall clock
    analysed INTEGER NOT NULL DEFAULT 0,-- 1 where what is derived below belongs to the sources that are in the file
    analysis TEXT NOT NULL DEFAULT ''  -- JSON of the parameters it was derived with
) STRICT;

-- One imported file.
CREATE TABLE source (
    id INTEGER PRIMARY KEY,            -- source.id everywhere else
    path TEXT NOT NULL,                -- as given when it was imported
    format TEXT NOT NULL,              -- name of the importer
    producer TEXT NOT NULL,            -- what wrote the file, where it says so
    host TEXT NOT NULL,                -- host name, where known
    rank INTEGER,                      -- rank of the process in its group
    rank_rule TEXT NOT NULL,           -- where the rank came from, in words
    world_size INTEGER,                -- ranks in the group
    bytes INTEGER NOT NULL,            -- size of the input as stored
    events INTEGER NOT NULL,           -- event records in it: read + dropped
    clock_base_ns INTEGER,             -- wall clock of zero of its own clock; NULL where unknown
    metadata TEXT NOT NULL,            -- everything else the file says about itself, as JSON
    complete INTEGER NOT NULL,         -- 1 once everything of it is written; rows of others are removed by the next opening
    clock_offset_ns INTEGER NOT NULL DEFAULT 0,     -- added to a time of its clock gives capture time
    clock_uncertainty_ns INTEGER NOT NULL DEFAULT 0,-- how far off the offset may be
    clock_rule TEXT NOT NULL DEFAULT '',            -- where the offset came from, in words
    utc_offset_seconds INTEGER                      -- local time minus UTC on its host, where it says so
) STRICT;

-- A process of a source.
CREATE TABLE process (
    id INTEGER PRIMARY KEY,            -- process.id everywhere else
    source INTEGER NOT NULL,           -- source.id
    pid INTEGER NOT NULL,              -- number the source gave; 0 where it used words
    pid_text TEXT NOT NULL,            -- the words ("Spans"), else empty
    name TEXT NOT NULL,                -- name the source gave, else empty
    labels TEXT NOT NULL,              -- e.g. "CPU", "GPU 0"
    rank INTEGER,                      -- rank of this process where it differs from that of its source
    sort_index INTEGER NOT NULL        -- display order the source asked for
) STRICT;

-- A thread of a process.
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,            -- thread.id everywhere else
    process INTEGER NOT NULL,          -- process.id
    tid INTEGER NOT NULL,              -- number the source gave; 0 where it used words
    tid_text TEXT NOT NULL,            -- the words, else empty
    name TEXT NOT NULL,                -- name the source gave, else empty
    sort_index INTEGER NOT NULL        -- display order the source asked for
) STRICT;

-- An accelerator of a source.
CREATE TABLE device (
    id INTEGER PRIMARY KEY,            -- device.id everywhere else
    source INTEGER NOT NULL,           -- source.id
    ordinal INTEGER NOT NULL,          -- as the process counts its devices
    name TEXT NOT NULL,                -- product name, where known
    properties TEXT NOT NULL           -- JSON
) STRICT;

-- One lane of spans; belongs to one source and never changes once that is complete.
CREATE TABLE track (
    id INTEGER PRIMARY KEY,            -- track.id everywhere else; part of every span id
    source INTEGER NOT NULL,           -- source.id
    kind INTEGER NOT NULL,             -- 0 host, 1 device, 2 device ranges, 3 counter, 4 marks
    process INTEGER,                   -- process.id
    thread INTEGER,                    -- thread.id
    device INTEGER,                    -- device.id
    stream INTEGER,                    -- stream number of the device
    lane INTEGER NOT NULL,             -- 0, or 1… for spans that cross those of lower lanes
    part INTEGER NOT NULL,             -- Python thread inside an OS thread
    max_depth INTEGER NOT NULL,        -- deepest nesting
    name TEXT NOT NULL,                -- name of a counter or of marks, else empty
    spans INTEGER NOT NULL,            -- number of spans on it
    first_start INTEGER NOT NULL,      -- source clock
    last_end INTEGER NOT NULL,         -- source clock
    clock_offset_ns INTEGER NOT NULL,  -- added to a stored time gives capture time
    clock_uncertainty_ns INTEGER NOT NULL-- how far off the offset may be
) STRICT;

-- 4,096 consecutive spans of a track in start order. Times in the source clock.
CREATE TABLE span_chunk (
    id INTEGER PRIMARY KEY,            -- span_chunk.id everywhere else
    track INTEGER NOT NULL,            -- track.id
    first_ordinal INTEGER NOT NULL,    -- a span's id is track << 40 | ordinal
    count INTEGER NOT NULL,            -- spans in it, 4,096 but for the last of a track
    min_start INTEGER NOT NULL,        -- start of its first span
    max_start INTEGER NOT NULL,        -- start of its last span
    max_end INTEGER NOT NULL,          -- latest end of its spans
    kind_mask INTEGER NOT NULL         -- bit n is set where the chunk holds a span of kind n
) STRICT;

-- One column of one chunk, packed (see packed_column.h). A column that is absent holds nothing.
CREATE TABLE span_column (
    chunk INTEGER NOT NULL,            -- span_chunk.id
    column INTEGER NOT NULL,           -- number of the column (see columns.h)
    data BLOB NOT NULL,                -- packed values
    PRIMARY KEY (chunk, column)
) STRICT, WITHOUT ROWID;

-- Interned span names.
CREATE TABLE name (
    id INTEGER PRIMARY KEY,            -- from 0, without gaps
    text TEXT NOT NULL                 -- the name as the source wrote it
) STRICT;

-- Interned attribute texts, 64 KiB a block, zlib: end offsets (u32 each), then the bytes.
CREATE TABLE text_block (
    first_id INTEGER PRIMARY KEY,      -- id of its first text
    count INTEGER NOT NULL,            -- texts in it
    raw_bytes INTEGER NOT NULL,        -- size before compression
    data BLOB NOT NULL                 -- compressed bytes
) STRICT;

-- One iteration of an engine. Capture times.
CREATE TABLE step (
    id INTEGER PRIMARY KEY,            -- step.id everywhere else
    name TEXT NOT NULL,                -- the text that named it, or what it was inferred from
    dialect TEXT NOT NULL,             -- rule of the step grammar, or how it was inferred
    phase INTEGER NOT NULL,            -- 0 prefill, 1 decode, 2 mixed, 3 other
    start_ns INTEGER NOT NULL,         -- start of its first host span
    end_ns INTEGER NOT NULL,           -- end of its last bound device span or host span
    host_ns INTEGER NOT NULL,          -- length of its host side
    inferred INTEGER NOT NULL,         -- 1 where no text named it
    number INTEGER,                    -- the engine's own number
    tokens INTEGER,                    -- tokens processed
    batch INTEGER,                     -- requests in the step
    context_requests INTEGER,          -- requests that prefill
    context_tokens INTEGER,            -- tokens that they prefill
    generation_requests INTEGER,       -- requests that decode
    generation_tokens INTEGER,         -- tokens that they decode
    instance TEXT NOT NULL,            -- engine instance it ran on
    kernels INTEGER NOT NULL,          -- kernels bound to it
    kernel_busy_ns INTEGER NOT NULL,   -- union of its device work, summed over devices
    kind INTEGER NOT NULL DEFAULT 0    -- 0 step; 1 stall: live requests and no progress
) STRICT;

-- The ranks a step ran on.
CREATE TABLE step_rank (
    step INTEGER NOT NULL,             -- step.id
    rank INTEGER NOT NULL,             -- a rank that took part
    PRIMARY KEY (step, rank)
) STRICT, WITHOUT ROWID;

-- The ranges that make a step.
CREATE TABLE step_span (
    step INTEGER NOT NULL,             -- step.id
    span INTEGER NOT NULL,             -- span id
    source INTEGER NOT NULL,           -- source.id of the span
    PRIMARY KEY (step, span)
) STRICT, WITHOUT ROWID;

-- A request that an engine served.
CREATE TABLE request (
    id INTEGER PRIMARY KEY,            -- request.id everywhere else
    request TEXT NOT NULL UNIQUE,      -- the engine's id
    arrival_ns INTEGER,                -- when it came in
    first_token_ns INTEGER,            -- when its first token was there
    end_ns INTEGER,                    -- when it ended
    ttft_ns INTEGER,                   -- time to first token
    tpot_ns INTEGER,                   -- time per output token after the first
    prompt_tokens INTEGER,             -- tokens of the prompt
    output_tokens INTEGER,             -- tokens generated
    aborted INTEGER NOT NULL DEFAULT 0,-- 1 where it was given up by client or engine
    timing_rule TEXT NOT NULL DEFAULT ''-- where arrival, first token and end came from, in words
) STRICT;

-- A place that names a request. Times in the source clock.
CREATE TABLE request_mention (
    id INTEGER PRIMARY KEY,            -- in the order of the source
    source INTEGER NOT NULL,           -- source.id
    request TEXT NOT NULL,             -- the id as written there
    event INTEGER NOT NULL,            -- 0 named, 1 arrival, 2 in a step, 3 first token, 4 finished, 5 aborted, 6 preempted
    time_ns INTEGER,                   -- NULL where a log line has no time
    resolution_ns INTEGER NOT NULL,    -- unit of the time
    end_ns INTEGER,                    -- end of the span
    step INTEGER,                      -- step.id of the span
    span INTEGER,                      -- span id; NULL for a log line
    log INTEGER,                       -- log.id; NULL for a span
    prompt_tokens INTEGER,             -- where the place says so
    output_tokens INTEGER,
    ttft_ns INTEGER,                   -- where the engine itself says so
    latency_ns INTEGER
) STRICT;

-- The steps a request took part in.
CREATE TABLE request_step (
    request INTEGER NOT NULL,          -- request.id
    step INTEGER NOT NULL,             -- step.id
    PRIMARY KEY (request, step)
) STRICT, WITHOUT ROWID;

-- One log message, continuation lines joined.
CREATE TABLE log (
    id INTEGER PRIMARY KEY,            -- in the order of the source
    source INTEGER NOT NULL,           -- source.id
    time_ns INTEGER,                   -- source clock; NULL where the line has no time
    process INTEGER,                   -- process.id
    rank INTEGER,                      -- rank named by the line or its source
    level TEXT NOT NULL,               -- DEBUG, INFO, WARNING, ERROR; empty where the line has none
    logger TEXT NOT NULL,              -- file or component that wrote it
    request TEXT,                      -- request id named in it
    step INTEGER,                      -- step.id it is aligned to
    text TEXT NOT NULL,                -- the message
    method TEXT NOT NULL,              -- request, time or none: how it was aligned
    distance_ns INTEGER,               -- distance to what it is aligned to
    resolution_ns INTEGER NOT NULL DEFAULT 0,-- the stamp means [time, time + resolution)
    offset INTEGER NOT NULL DEFAULT 0  -- of its first byte in the input
) STRICT;

-- One stack sample of a thread.
CREATE TABLE stack_sample (
    id INTEGER PRIMARY KEY,            -- in the order of the source
    source INTEGER NOT NULL,           -- source.id
    time_ns INTEGER,                   -- source clock
    process INTEGER,                   -- process.id
    thread INTEGER,                    -- thread.id
    stack TEXT NOT NULL,               -- frames, outermost first, separated by ;
    weight_ns INTEGER,                 -- time the sample stands for
    owns_gil INTEGER                   -- 1 holds the interpreter lock, 0 does not, NULL unknown
) STRICT;

-- An idle gap of a device, with its cause. Capture times.
CREATE TABLE bubble (
    id INTEGER PRIMARY KEY,            -- bubble.id
    device INTEGER NOT NULL,           -- device.id
    start_ns INTEGER NOT NULL,         -- start of the gap
    duration_ns INTEGER NOT NULL,      -- its length
    step INTEGER,                      -- step.id
    host_span INTEGER,                 -- span under it
    cause TEXT NOT NULL,               -- cpu, sync, communication or unknown
    stack INTEGER                      -- stack_sample.id under it
) STRICT;

-- What the numbers say about a step.
CREATE TABLE step_verdict (
    step INTEGER PRIMARY KEY,          -- step.id
    expected_ns INTEGER,               -- what its roofline says; NULL where there is nothing to compare with
    ratio REAL,                        -- own_ns / expected_ns
    outlier INTEGER NOT NULL,          -- 1 where it is out of line
    reasons INTEGER NOT NULL,          -- bits: 1 slow, 2 structure, 4 contradiction, 8 stall, 16 slo
    bound INTEGER NOT NULL,            -- 0 unknown, 1 cpu, 2 gpu, 3 communication, 4 balanced
    rule TEXT NOT NULL,                -- how expected_ns came about
    sentence TEXT NOT NULL,            -- the strongest reason for a person
    own_ns INTEGER                     -- its time after the end of the step before it on its instance; NULL where it was never judged
) STRICT;

-- A fitted line of one instance and phase: expected = intercept + slope * tokens (StriaTrace §5.4).
CREATE TABLE roofline (
    id INTEGER PRIMARY KEY,            -- roofline.id
    instance TEXT NOT NULL,            -- engine instance
    phase INTEGER NOT NULL,            -- 0 prefill, 1 decode, 2 mixed, 3 other
    rule TEXT NOT NULL,                -- p99-ransac, or median where there are too few steps
    intercept_ns REAL NOT NULL,        -- ns
    slope_ns REAL NOT NULL,            -- ns per token
    steps INTEGER NOT NULL,            -- steps it was fitted on
    buckets INTEGER NOT NULL,          -- distinct token counts among them
    r2 REAL NOT NULL                   -- of the fitted points; 0 for a median
) STRICT;

-- What a person wrote; never thrown away. Capture times.
CREATE TABLE note (
    id INTEGER PRIMARY KEY,            -- note.id
    start_ns INTEGER NOT NULL,         -- time it is about
    duration_ns INTEGER NOT NULL,      -- 0 for a point in time
    span INTEGER,                      -- span id it is about
    step INTEGER,                      -- step.id it is about
    text TEXT NOT NULL,                -- what was written
    created_ns INTEGER NOT NULL        -- wall clock of writing
) STRICT;

-- What was said about a step.
CREATE TABLE diagnosis (
    id INTEGER PRIMARY KEY,            -- diagnosis.id
    step INTEGER NOT NULL,             -- step.id
    fault_type TEXT NOT NULL,          -- class of the fault, or normal
    confidence REAL NOT NULL,          -- 0 to 1
    answer TEXT NOT NULL,              -- the whole answer as JSON
    model TEXT NOT NULL                -- what answered
) STRICT;

-- Totals of an import: every record was read or dropped; repaired is a part of read; metadata only names things.
CREATE TABLE ledger_total (
    source INTEGER PRIMARY KEY,        -- source.id
    read INTEGER NOT NULL,             -- records kept
    repaired INTEGER NOT NULL,         -- records kept in a changed form
    dropped INTEGER NOT NULL,          -- records not kept
    metadata INTEGER NOT NULL          -- records that only name things
) STRICT;

-- Why records were repaired or dropped.
CREATE TABLE ledger_entry (
    id INTEGER PRIMARY KEY,            -- ledger_entry.id
    source INTEGER NOT NULL,           -- source.id
    outcome INTEGER NOT NULL,          -- 0 repaired, 1 dropped, 2 note
    code TEXT NOT NULL,                -- stable name of the reason
    sentence TEXT NOT NULL,            -- the reason for a person
    count INTEGER NOT NULL,            -- records it happened to
    samples TEXT NOT NULL              -- first places, one a line
) STRICT;

-- Findings about a source as a whole.
CREATE TABLE health (
    id INTEGER PRIMARY KEY,            -- health.id
    source INTEGER NOT NULL,           -- source.id
    code TEXT NOT NULL,                -- stable name of the finding
    severity INTEGER NOT NULL,         -- 0 info, 1 warning, 2 error
    sentence TEXT NOT NULL             -- what it means and how to capture better
) STRICT;
