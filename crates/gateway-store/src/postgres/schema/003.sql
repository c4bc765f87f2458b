-- Media that were made: runs, their artifacts, and the objects that hold the bytes of these.

CREATE TABLE media_runs (
    id text PRIMARY KEY,
    member bigint NOT NULL,
    hold uuid NOT NULL,
    model text NOT NULL,
    capability text NOT NULL,
    charge bigint NOT NULL CHECK (charge >= 0),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX media_runs_expires_at ON media_runs (expires_at);

CREATE TABLE artifacts (
    id text PRIMARY KEY,
    run text NOT NULL REFERENCES media_runs ON DELETE CASCADE,
    position integer NOT NULL,
    member bigint NOT NULL,
    object text NOT NULL,
    media_type text NOT NULL,
    bytes bigint NOT NULL CHECK (bytes >= 0),
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    expires_at bigint NOT NULL
);
CREATE INDEX artifacts_run ON artifacts (run, position);
CREATE INDEX artifacts_object ON artifacts (object);

-- State 0: no artifact refers to it; 1: one may; 2: its bytes are to be removed.
CREATE TABLE media_objects (
    name text PRIMARY KEY,
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    state integer NOT NULL CHECK (state IN (0, 1, 2)),
    touched_at bigint NOT NULL
);
CREATE UNIQUE INDEX media_objects_sha256 ON media_objects (sha256) WHERE state < 2;
CREATE INDEX media_objects_unused ON media_objects (touched_at) WHERE state = 0;
CREATE INDEX media_objects_doomed ON media_objects (name) WHERE state = 2;
