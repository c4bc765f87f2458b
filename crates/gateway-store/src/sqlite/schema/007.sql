-- What is held is the sum of the live holds, and stands nowhere else: of a member they lie together. What
-- members have and keys have spent follows from the postings, up to the one that is named in `followed`.

CREATE TABLE members_of_7 (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
    balance INTEGER NOT NULL DEFAULT 0 CHECK (balance >= 0),
    -- Charged requests of the day and the month, each with its number.
    day INTEGER NOT NULL DEFAULT 0,
    day_requests INTEGER NOT NULL DEFAULT 0,
    day_charged INTEGER NOT NULL DEFAULT 0,
    month INTEGER NOT NULL DEFAULT 0,
    month_requests INTEGER NOT NULL DEFAULT 0,
    month_charged INTEGER NOT NULL DEFAULT 0,
    last_posting INTEGER
) STRICT;
INSERT INTO members_of_7
    SELECT id, name, created_at, blocked, balance, day, day_requests, day_charged, month,
        month_requests, month_charged, last_posting FROM members;
DROP TABLE members;
ALTER TABLE members_of_7 RENAME TO members;

ALTER TABLE lineages DROP COLUMN held;
ALTER TABLE lineages DROP COLUMN running;

CREATE TABLE holds_of_7 (
    id BLOB NOT NULL CHECK (length(id) = 16),
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    operation TEXT NOT NULL,
    model TEXT,
    owner INTEGER NOT NULL,
    since INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    idempotency TEXT,
    PRIMARY KEY (member, id)
) STRICT, WITHOUT ROWID;
INSERT INTO holds_of_7 SELECT * FROM holds;
DROP TABLE holds;
ALTER TABLE holds_of_7 RENAME TO holds;

-- One row.
CREATE TABLE followed (
    posting INTEGER NOT NULL
) STRICT;
INSERT INTO followed SELECT coalesce(max(id), 0) FROM postings;
