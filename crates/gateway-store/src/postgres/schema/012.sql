-- The upstreams that were asked, with the outcome and time of each: a JSON array.
ALTER TABLE receipts ADD COLUMN attempts text;

-- When the last charged request of a key ended. Until then the last day of its usage.
ALTER TABLE lineages ADD COLUMN last_used bigint NOT NULL DEFAULT 0;
UPDATE lineages SET last_used = used.day * 86400000000
    FROM (SELECT lineage, max(day) AS day FROM usage GROUP BY lineage) AS used
    WHERE used.lineage = lineages.id;

CREATE INDEX keys_name ON keys (name, id);
