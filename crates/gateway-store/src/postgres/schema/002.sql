-- Transfers that can be asked for again: a reference is used once for each member.

ALTER TABLE postings ADD COLUMN reference text;

CREATE UNIQUE INDEX postings_reference ON postings (member, reference)
    WHERE reference IS NOT NULL;

-- What runs, or says that it runs: a handful, found without looking at all that has ended.
CREATE INDEX responses_running ON responses (hold) WHERE status IN ('queued', 'in_progress');
