-- Sessions of the web pages. The token in the cookie is stored only as its digest. A session without a
-- member is an operator's.
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
    member INTEGER,
    key TEXT,
    client TEXT NOT NULL,
    address TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    idle_until INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_member ON sessions (member, created_at);
CREATE INDEX sessions_by_end ON sessions (min(idle_until, ends_at));
CREATE INDEX media_runs_by_member ON media_runs (member, created_at);
