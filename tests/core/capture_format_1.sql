-- The tables of capture format 1, as they were: what an older Faultline left behind.
CREATE TABLE capture (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    created_by TEXT NOT NULL,
    zero_wall_ns INTEGER
) STRICT;
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    format TEXT NOT NULL,
    producer TEXT NOT NULL,
    host TEXT NOT NULL,
    rank INTEGER,
    rank_rule TEXT NOT NULL,
    world_size INTEGER,
    bytes INTEGER NOT NULL,
    events INTEGER NOT NULL,
    clock_base_ns INTEGER,
    metadata TEXT NOT NULL,
    complete INTEGER NOT NULL
) STRICT;
CREATE TABLE process (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    pid_text TEXT NOT NULL,
    name TEXT NOT NULL,
    labels TEXT NOT NULL,
    rank INTEGER,
    sort_index INTEGER NOT NULL
) STRICT;
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    process INTEGER NOT NULL,
    tid INTEGER NOT NULL,
    tid_text TEXT NOT NULL,
    name TEXT NOT NULL,
    sort_index INTEGER NOT NULL
) STRICT;
CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    name TEXT NOT NULL,
    properties TEXT NOT NULL
) STRICT;
CREATE TABLE track (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    process INTEGER,
    thread INTEGER,
    device INTEGER,
    stream INTEGER,
    lane INTEGER NOT NULL,
    part INTEGER NOT NULL,
    max_depth INTEGER NOT NULL,
    name TEXT NOT NULL,
    spans INTEGER NOT NULL,
    first_start INTEGER NOT NULL,
    last_end INTEGER NOT NULL,
    clock_offset_ns INTEGER NOT NULL,
    clock_uncertainty_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE span_chunk (
    id INTEGER PRIMARY KEY,
    track INTEGER NOT NULL,
    first_ordinal INTEGER NOT NULL,
    count INTEGER NOT NULL,
    min_start INTEGER NOT NULL,
    max_start INTEGER NOT NULL,
    max_end INTEGER NOT NULL,
    kind_mask INTEGER NOT NULL
) STRICT;
CREATE TABLE span_column (
    chunk INTEGER NOT NULL,
    column INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (chunk, column)
) STRICT, WITHOUT ROWID;
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE text_block (
    first_id INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dialect TEXT NOT NULL,
    phase INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    host_ns INTEGER NOT NULL,
    inferred INTEGER NOT NULL,
    number INTEGER,
    tokens INTEGER,
    batch INTEGER,
    context_requests INTEGER,
    context_tokens INTEGER,
    generation_requests INTEGER,
    generation_tokens INTEGER,
    instance TEXT NOT NULL,
    kernels INTEGER NOT NULL,
    kernel_busy_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE step_rank (
    step INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    PRIMARY KEY (step, rank)
) STRICT, WITHOUT ROWID;
CREATE TABLE step_span (
    step INTEGER NOT NULL,
    span INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (step, span)
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    request TEXT NOT NULL UNIQUE,
    arrival_ns INTEGER,
    first_token_ns INTEGER,
    end_ns INTEGER,
    ttft_ns INTEGER,
    tpot_ns INTEGER
) STRICT;
CREATE TABLE request_step (
    request INTEGER NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY (request, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    time_ns INTEGER,
    process INTEGER,
    rank INTEGER,
    level TEXT NOT NULL,
    logger TEXT NOT NULL,
    request TEXT,
    step INTEGER,
    text TEXT NOT NULL,
    method TEXT NOT NULL,
    distance_ns INTEGER
) STRICT;
CREATE TABLE stack_sample (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    time_ns INTEGER,
    process INTEGER,
    thread INTEGER,
    stack TEXT NOT NULL,
    weight_ns INTEGER,
    owns_gil INTEGER
) STRICT;
CREATE TABLE bubble (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    step INTEGER,
    host_span INTEGER,
    cause TEXT NOT NULL
) STRICT;
CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    start_ns INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    span INTEGER,
    step INTEGER,
    text TEXT NOT NULL,
    created_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE diagnosis (
    id INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,
    fault_type TEXT NOT NULL,
    confidence REAL NOT NULL,
    answer TEXT NOT NULL,
    model TEXT NOT NULL
) STRICT;
CREATE TABLE ledger_total (
    source INTEGER PRIMARY KEY,
    read INTEGER NOT NULL,
    repaired INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    metadata INTEGER NOT NULL
) STRICT;
CREATE TABLE ledger_entry (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    code TEXT NOT NULL,
    sentence TEXT NOT NULL,
    count INTEGER NOT NULL,
    samples TEXT NOT NULL
) STRICT;
CREATE TABLE health (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    code TEXT NOT NULL,
    severity INTEGER NOT NULL,
    sentence TEXT NOT NULL
) STRICT;
