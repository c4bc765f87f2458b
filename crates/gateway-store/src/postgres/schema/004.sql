-- Research jobs. The id of a job is that of its hold, which stands for as long as the job lives.

CREATE TABLE research_jobs (
    id uuid PRIMARY KEY,
    member bigint NOT NULL,
    lineage bigint NOT NULL,
    status text NOT NULL
        CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled', 'expired')),
    query text NOT NULL,
    model text NOT NULL,
    request bytea NOT NULL,
    -- Each claim raises it: whoever has an older one may write nothing.
    attempt bigint NOT NULL DEFAULT 0,
    -- Claims since the last step that was finished.
    tries bigint NOT NULL DEFAULT 0,
    max_tries bigint NOT NULL,
    worker bigint,
    -- From when on it may be claimed; of one that runs, the end of its lease.
    free_at bigint NOT NULL,
    step text NOT NULL DEFAULT 'queued',
    done bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    -- How many events it has.
    events bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint,
    deadline bigint NOT NULL,
    kept bigint NOT NULL,
    -- Until when it is kept, once it has ended.
    expires_at bigint,
    webhook_url text,
    result bytea,
    error bytea,
    charged bigint,
    CHECK ((finished_at IS NULL) = (status IN ('queued', 'running')))
) WITH (fillfactor = 80);
CREATE INDEX research_jobs_member ON research_jobs (member, id);
CREATE INDEX research_jobs_free ON research_jobs (free_at) WHERE status IN ('queued', 'running');
CREATE INDEX research_jobs_expires_at ON research_jobs (expires_at) WHERE expires_at IS NOT NULL;

-- Steps that were finished, each once.
CREATE TABLE research_steps (
    job uuid NOT NULL REFERENCES research_jobs ON DELETE CASCADE,
    number bigint NOT NULL,
    kind text NOT NULL,
    attempt bigint NOT NULL,
    detail bytea NOT NULL,
    output bytea,
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    PRIMARY KEY (job, number)
);

CREATE TABLE research_events (
    job uuid NOT NULL REFERENCES research_jobs ON DELETE CASCADE,
    sequence bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (job, sequence)
);

-- Ends of jobs that are to be told to their members.
CREATE TABLE research_hooks (
    job uuid PRIMARY KEY REFERENCES research_jobs ON DELETE CASCADE,
    url text NOT NULL,
    tries bigint NOT NULL DEFAULT 0,
    due_at bigint NOT NULL,
    -- Null while it is still to be told.
    outcome text
);
CREATE INDEX research_hooks_due ON research_hooks (due_at) WHERE outcome IS NULL;
