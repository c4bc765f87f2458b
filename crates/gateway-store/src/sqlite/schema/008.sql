-- Under load, the holds that began in one transaction stand in one row, each as a list in the order of the
-- columns of `holds`, until their own rows follow. A hold that ended before that has a receipt.
CREATE TABLE opened (
    id INTEGER PRIMARY KEY,
    holds TEXT NOT NULL
) STRICT;

-- Holds whose rows are still to follow.
CREATE VIEW following_holds AS
    SELECT unhex(hold.value ->> 0) AS id, hold.value ->> 1 AS member, hold.value ->> 2 AS lineage,
        hold.value ->> 3 AS amount, hold.value ->> 4 AS operation, hold.value ->> 5 AS model,
        hold.value ->> 6 AS owner, hold.value ->> 7 AS since, hold.value ->> 8 AS lease_until,
        hold.value ->> 9 AS idempotency
    FROM opened, json_each(opened.holds) AS hold
    WHERE NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.id = unhex(hold.value ->> 0));

CREATE VIEW live_holds AS
    SELECT * FROM holds UNION ALL SELECT * FROM following_holds;
