-- Charged and free requests that were answered, by day (days since 1970, UTC), key, operation and model; an
-- unknown model is empty. The day comes first, so that all writes are on the newest pages.
CREATE TABLE usage (
    day INTEGER NOT NULL,
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    operation TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    PRIMARY KEY (day, member, lineage, operation, model)
) STRICT, WITHOUT ROWID;

-- The same for all members together.
CREATE TABLE usage_totals (
    day INTEGER NOT NULL,
    operation TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    PRIMARY KEY (day, operation, model)
) STRICT, WITHOUT ROWID;

-- Receipts of postings after `followed` are counted when these are applied.
INSERT INTO usage
    SELECT at / 86400000000, member, lineage, operation, coalesce(model, ''), count(*),
        sum(min(max(coalesce(input_tokens, 0), 0), 1000000000)),
        sum(min(max(coalesce(output_tokens, 0), 0), 1000000000)),
        sum(charged)
    FROM receipts
    WHERE rule IN ('answered', 'client_left_late', 'cancelled_late', 'stream_limit')
        AND id NOT IN (SELECT hold FROM postings
            WHERE postings.id > (SELECT posting FROM followed) AND hold IS NOT NULL)
    GROUP BY 1, 2, 3, 4, 5;
INSERT INTO usage_totals
    SELECT day, operation, model, sum(requests), sum(input_tokens), sum(output_tokens), sum(charged)
    FROM usage GROUP BY 1, 2, 3;

CREATE INDEX keys_by_lineage ON keys (lineage, created_at);
