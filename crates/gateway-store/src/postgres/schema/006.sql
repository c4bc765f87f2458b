-- Charged and free requests that were answered, by day (days since 1970, UTC), key, operation and model; an
-- unknown model is empty. The lock on a member protects its rows.
CREATE TABLE usage (
    day integer NOT NULL,
    member bigint NOT NULL,
    lineage bigint NOT NULL,
    operation text NOT NULL,
    model text NOT NULL,
    requests bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    charged bigint NOT NULL,
    PRIMARY KEY (day, member, lineage, operation, model)
) WITH (fillfactor = 80);

-- The same for all members together. Each connection writes rows of its shard, so that processes do not
-- wait for each other.
CREATE TABLE usage_totals (
    day integer NOT NULL,
    operation text NOT NULL,
    model text NOT NULL,
    shard integer NOT NULL,
    requests bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    charged bigint NOT NULL,
    PRIMARY KEY (day, operation, model, shard)
) WITH (fillfactor = 50);

INSERT INTO usage
    SELECT at / 86400000000, member, lineage, operation, coalesce(model, ''), count(*),
        sum(least(greatest(coalesce(input_tokens, 0), 0), 1000000000)),
        sum(least(greatest(coalesce(output_tokens, 0), 0), 1000000000)),
        sum(charged)
    FROM receipts
    WHERE rule IN ('answered', 'client_left_late', 'cancelled_late', 'stream_limit')
    GROUP BY 1, 2, 3, 4, 5;
INSERT INTO usage_totals
    SELECT day, operation, model, 0, sum(requests), sum(input_tokens), sum(output_tokens),
        sum(charged)
    FROM usage GROUP BY 1, 2, 3;

CREATE INDEX keys_lineage ON keys (lineage, created_at);
