-- Budgets of members and keys: an amount per day, week or month. `budget_charged` sums up the receipts of
-- requests that began at `budget_start` or later.

ALTER TABLE members ADD COLUMN budget INTEGER CHECK (budget >= 0);
ALTER TABLE members ADD COLUMN budget_period TEXT CHECK (budget_period IN ('day', 'week', 'month'));
ALTER TABLE members ADD COLUMN budget_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN budget_charged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lineages ADD COLUMN budget INTEGER CHECK (budget >= 0);
ALTER TABLE lineages ADD COLUMN budget_period TEXT CHECK (budget_period IN ('day', 'week', 'month'));
ALTER TABLE lineages ADD COLUMN budget_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lineages ADD COLUMN budget_charged INTEGER NOT NULL DEFAULT 0;
