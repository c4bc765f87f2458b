-- Media that were made: runs, their artifacts, and the objects that hold the bytes of these.

CREATE TABLE media_runs (
    id TEXT PRIMARY KEY,
    member INTEGER NOT NULL,
    hold BLOB NOT NULL CHECK (length(hold) = 16),
    model TEXT NOT NULL,
    capability TEXT NOT NULL,
    charge INTEGER NOT NULL CHECK (charge >= 0),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX media_runs_by_end ON media_runs (expires_at);

CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    member INTEGER NOT NULL,
    object TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX artifacts_by_run ON artifacts (run, position);
CREATE INDEX artifacts_by_object ON artifacts (object);

-- State 0: no artifact refers to it; 1: one may; 2: its bytes are to be removed.
CREATE TABLE media_objects (
    name TEXT PRIMARY KEY,
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
    touched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX media_objects_by_digest ON media_objects (sha256) WHERE state < 2;
CREATE INDEX media_objects_unused ON media_objects (touched_at) WHERE state = 0;
CREATE INDEX media_objects_doomed ON media_objects (name) WHERE state = 2;
