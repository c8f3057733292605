-- The tables of a .faultline capture (format version 1). Nothing executable is stored: views are made on each connection.
-- Times are integer nanoseconds. "Source clock" times become capture times by adding the offset of their track.

-- One row: what the capture as a whole says.
CREATE TABLE capture (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    created_by TEXT NOT NULL,          -- program and version that made the file
    zero_wall_ns INTEGER               -- wall clock (epoch ns) of capture time 0; NULL where no source has a wall clock
) STRICT;

-- One imported file.
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
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
    complete INTEGER NOT NULL          -- 1 once everything of it is written; rows of others are removed by the next opening
) STRICT;

-- A process of a source.
CREATE TABLE process (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    pid INTEGER NOT NULL,              -- number the source gave; 0 where it used words
    pid_text TEXT NOT NULL,            -- the words ("Spans"), else empty
    name TEXT NOT NULL,
    labels TEXT NOT NULL,              -- e.g. "CPU", "GPU 0"
    rank INTEGER,
    sort_index INTEGER NOT NULL        -- display order the source asked for
) STRICT;

-- A thread of a process.
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    process INTEGER NOT NULL,          -- process.id
    tid INTEGER NOT NULL,              -- number the source gave; 0 where it used words
    tid_text TEXT NOT NULL,
    name TEXT NOT NULL,
    sort_index INTEGER NOT NULL
) STRICT;

-- An accelerator of a source.
CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    ordinal INTEGER NOT NULL,          -- as the process counts its devices
    name TEXT NOT NULL,
    properties TEXT NOT NULL           -- JSON
) STRICT;

-- One lane of spans; belongs to one source and never changes once that is complete.
CREATE TABLE track (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    kind INTEGER NOT NULL,             -- 0 host, 1 device, 2 device ranges, 3 counter, 4 marks
    process INTEGER,                   -- process.id
    thread INTEGER,                    -- thread.id
    device INTEGER,                    -- device.id
    stream INTEGER,                    -- stream number of the device
    lane INTEGER NOT NULL,             -- 0, or 1… for spans that cross those of lower lanes
    part INTEGER NOT NULL,             -- Python thread inside an OS thread
    max_depth INTEGER NOT NULL,        -- deepest nesting
    name TEXT NOT NULL,
    spans INTEGER NOT NULL,
    first_start INTEGER NOT NULL,      -- source clock
    last_end INTEGER NOT NULL,         -- source clock
    clock_offset_ns INTEGER NOT NULL,  -- added to a stored time gives capture time
    clock_uncertainty_ns INTEGER NOT NULL
) STRICT;

-- 4,096 consecutive spans of a track in start order. Times in the source clock.
CREATE TABLE span_chunk (
    id INTEGER PRIMARY KEY,
    track INTEGER NOT NULL,            -- track.id
    first_ordinal INTEGER NOT NULL,    -- a span's id is track << 40 | ordinal
    count INTEGER NOT NULL,
    min_start INTEGER NOT NULL,
    max_start INTEGER NOT NULL,
    max_end INTEGER NOT NULL,
    kind_mask INTEGER NOT NULL         -- bit n is set where the chunk holds a span of kind n
) STRICT;

-- One column of one chunk, packed (see packed_column.h). A column that is absent holds nothing.
CREATE TABLE span_column (
    chunk INTEGER NOT NULL,            -- span_chunk.id
    column INTEGER NOT NULL,           -- number of the column (see columns.h)
    data BLOB NOT NULL,
    PRIMARY KEY (chunk, column)
) STRICT, WITHOUT ROWID;

-- Interned span names.
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- Interned attribute texts, 64 KiB a block, zlib: end offsets (u32 each), then the bytes.
CREATE TABLE text_block (
    first_id INTEGER PRIMARY KEY,      -- id of its first text
    count INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;

-- One iteration of an engine. Capture times.
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dialect TEXT NOT NULL,             -- rule of the step grammar, or how it was inferred
    phase INTEGER NOT NULL,            -- 0 prefill, 1 decode, 2 mixed, 3 other
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    host_ns INTEGER NOT NULL,          -- length of its host side
    inferred INTEGER NOT NULL,         -- 1 where no text named it
    number INTEGER,                    -- the engine's own number
    tokens INTEGER,
    batch INTEGER,                     -- requests in the step
    context_requests INTEGER,
    context_tokens INTEGER,
    generation_requests INTEGER,
    generation_tokens INTEGER,
    instance TEXT NOT NULL,
    kernels INTEGER NOT NULL,
    kernel_busy_ns INTEGER NOT NULL    -- union of its device work, summed over devices
) STRICT;

-- The ranks a step ran on.
CREATE TABLE step_rank (
    step INTEGER NOT NULL,             -- step.id
    rank INTEGER NOT NULL,
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
    id INTEGER PRIMARY KEY,
    request TEXT NOT NULL UNIQUE,      -- the engine's id
    arrival_ns INTEGER,
    first_token_ns INTEGER,
    end_ns INTEGER,
    ttft_ns INTEGER,                   -- time to first token
    tpot_ns INTEGER                    -- time per output token after the first
) STRICT;

-- The steps a request took part in.
CREATE TABLE request_step (
    request INTEGER NOT NULL,          -- request.id
    step INTEGER NOT NULL,             -- step.id
    PRIMARY KEY (request, step)
) STRICT, WITHOUT ROWID;

-- One log message, continuation lines joined.
CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    time_ns INTEGER,                   -- source clock; NULL where the line has no time
    process INTEGER,                   -- process.id
    rank INTEGER,
    level TEXT NOT NULL,
    logger TEXT NOT NULL,
    request TEXT,                      -- request id named in it
    step INTEGER,                      -- step.id it is aligned to
    text TEXT NOT NULL,
    method TEXT NOT NULL,              -- request, time or none: how it was aligned
    distance_ns INTEGER                -- distance to what it is aligned to
) STRICT;

-- One stack sample of a thread.
CREATE TABLE stack_sample (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    time_ns INTEGER,                   -- source clock
    process INTEGER,                   -- process.id
    thread INTEGER,                    -- thread.id
    stack TEXT NOT NULL,               -- frames, outermost first, separated by ;
    weight_ns INTEGER,
    owns_gil INTEGER                   -- 1 holds the interpreter lock, 0 does not, NULL unknown
) STRICT;

-- An idle gap of a device, with its cause. Capture times.
CREATE TABLE bubble (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL,           -- device.id
    start_ns INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    step INTEGER,                      -- step.id
    host_span INTEGER,                 -- span under it
    cause TEXT NOT NULL                -- cpu, sync, communication or unknown
) STRICT;

-- What a person wrote; never thrown away. Capture times.
CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    start_ns INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,      -- 0 for a point in time
    span INTEGER,                      -- span id it is about
    step INTEGER,                      -- step.id it is about
    text TEXT NOT NULL,
    created_ns INTEGER NOT NULL        -- wall clock of writing
) STRICT;

-- What was said about a step.
CREATE TABLE diagnosis (
    id INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,             -- step.id
    fault_type TEXT NOT NULL,
    confidence REAL NOT NULL,
    answer TEXT NOT NULL,              -- the whole answer as JSON
    model TEXT NOT NULL
) STRICT;

-- Totals of an import: every record was read or dropped; repaired is a part of read; metadata only names things.
CREATE TABLE ledger_total (
    source INTEGER PRIMARY KEY,        -- source.id
    read INTEGER NOT NULL,
    repaired INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    metadata INTEGER NOT NULL
) STRICT;

-- Why records were repaired or dropped.
CREATE TABLE ledger_entry (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    outcome INTEGER NOT NULL,          -- 0 repaired, 1 dropped, 2 note
    code TEXT NOT NULL,
    sentence TEXT NOT NULL,
    count INTEGER NOT NULL,
    samples TEXT NOT NULL              -- first places, one a line
) STRICT;

-- Findings about a source as a whole.
CREATE TABLE health (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,           -- source.id
    code TEXT NOT NULL,
    severity INTEGER NOT NULL,         -- 0 info, 1 warning, 2 error
    sentence TEXT NOT NULL
) STRICT;
