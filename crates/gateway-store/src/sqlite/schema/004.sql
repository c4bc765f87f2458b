-- Research jobs. The id of a job is that of its hold, which stands for as long as the job lives.

CREATE TABLE research_jobs (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled', 'expired')),
    query TEXT NOT NULL,
    model TEXT NOT NULL,
    request BLOB NOT NULL,
    -- Each claim raises it: whoever has an older one may write nothing.
    attempt INTEGER NOT NULL DEFAULT 0,
    -- Claims since the last step that was finished.
    tries INTEGER NOT NULL DEFAULT 0,
    max_tries INTEGER NOT NULL,
    worker INTEGER,
    -- From when on it may be claimed; of one that runs, the end of its lease.
    free_at INTEGER NOT NULL,
    step TEXT NOT NULL DEFAULT 'queued',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    -- How many events it has.
    events INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    deadline INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    -- Until when it is kept, once it has ended.
    expires_at INTEGER,
    webhook_url TEXT,
    result BLOB,
    error BLOB,
    charged INTEGER,
    CHECK ((finished_at IS NULL) = (status IN ('queued', 'running')))
) STRICT;

CREATE INDEX research_jobs_by_member ON research_jobs (member, id);
CREATE INDEX research_jobs_free ON research_jobs (free_at) WHERE status IN ('queued', 'running');
CREATE INDEX research_jobs_by_end ON research_jobs (expires_at) WHERE expires_at IS NOT NULL;

-- Steps that were finished, each once.
CREATE TABLE research_steps (
    job BLOB NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    detail BLOB NOT NULL,
    output BLOB,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT;

CREATE TABLE research_events (
    job BLOB NOT NULL,
    sequence INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;

-- Ends of jobs that are to be told to their members.
CREATE TABLE research_hooks (
    job BLOB PRIMARY KEY,
    url TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    -- Null while it is still to be told.
    outcome TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX research_hooks_due ON research_hooks (due_at) WHERE outcome IS NULL;
