-- Sessions of the web pages. The token in the cookie is stored only as its digest. A session without a
-- member is an operator's.
CREATE TABLE sessions (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    member bigint,
    key text,
    client text NOT NULL,
    address text NOT NULL,
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    idle_until bigint NOT NULL,
    ends_at bigint NOT NULL
);
CREATE INDEX sessions_member ON sessions (member, created_at);
CREATE INDEX sessions_end ON sessions (least(idle_until, ends_at));
CREATE INDEX media_runs_member ON media_runs (member, created_at);
