-- The first schema. Times are microseconds since 1970, money is micro-credits, ids of holds are 16
-- bytes that sort by time.

CREATE TABLE members (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
    balance INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    -- Charged requests of the day and the month, each with its number.
    day INTEGER NOT NULL DEFAULT 0,
    day_requests INTEGER NOT NULL DEFAULT 0,
    day_charged INTEGER NOT NULL DEFAULT 0,
    month INTEGER NOT NULL DEFAULT 0,
    month_requests INTEGER NOT NULL DEFAULT 0,
    month_charged INTEGER NOT NULL DEFAULT 0,
    CHECK (held >= 0 AND balance >= held)
) STRICT;

-- A key and those it was rotated into.
CREATE TABLE lineages (
    id INTEGER PRIMARY KEY,
    member INTEGER NOT NULL,
    spend_limit INTEGER CHECK (spend_limit >= 0),
    requests_per_minute INTEGER CHECK (requests_per_minute >= 0),
    concurrency INTEGER CHECK (concurrency >= 0),
    spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
    next_arrival INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    models TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_by_member ON keys (member);

-- Only live ones: a small table.
CREATE TABLE holds (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    operation TEXT NOT NULL,
    model TEXT,
    owner INTEGER NOT NULL,
    since INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    idempotency TEXT
) STRICT, WITHOUT ROWID;

-- How each hold ended; rows are only added.
CREATE TABLE receipts (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    charged INTEGER NOT NULL CHECK (charged >= 0),
    rule TEXT NOT NULL,
    operation TEXT NOT NULL,
    model TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    since INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What moved between a member and the house; rows are only added. The other account follows from
-- the kind, and needs no room.
CREATE TABLE postings (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'top_up', 'adjustment')),
    member INTEGER NOT NULL,
    house TEXT GENERATED ALWAYS AS (CASE kind
        WHEN 'charge' THEN 'house:revenue'
        WHEN 'top_up' THEN 'house:funding'
        ELSE 'house:adjustments' END) VIRTUAL,
    amount INTEGER NOT NULL CHECK (amount <> 0),
    balance INTEGER NOT NULL CHECK (balance >= 0),
    hold BLOB CHECK (length(hold) = 16),
    reason TEXT,
    CHECK ((kind = 'charge') = (hold IS NOT NULL))
) STRICT;

CREATE INDEX postings_by_member ON postings (member, id);

-- Idempotency keys.
CREATE TABLE repeats (
    lineage INTEGER NOT NULL,
    word TEXT NOT NULL,
    body_sha256 BLOB NOT NULL CHECK (length(body_sha256) = 32),
    hold BLOB NOT NULL CHECK (length(hold) = 16),
    answered INTEGER NOT NULL CHECK (answered IN (0, 1)),
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (lineage, word)
) STRICT, WITHOUT ROWID;

CREATE INDEX repeats_by_end ON repeats (expires_at);

-- Answers kept for whoever asks again.
CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    hold BLOB NOT NULL UNIQUE CHECK (length(hold) = 16),
    status INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    body BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX answers_by_end ON answers (expires_at);

CREATE TABLE responses (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    hold BLOB NOT NULL CHECK (length(hold) = 16),
    status TEXT NOT NULL,
    body BLOB NOT NULL,
    input BLOB NOT NULL,
    previous TEXT,
    background INTEGER NOT NULL CHECK (background IN (0, 1)),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX responses_by_end ON responses (expires_at);
CREATE INDEX responses_running ON responses (hold) WHERE status IN ('queued', 'in_progress');

CREATE TABLE response_events (
    response TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (response, sequence)
) STRICT, WITHOUT ROWID;

-- What operators did; each row carries the digest of all before it.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    request TEXT,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32)
) STRICT;

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
