-- Budgets of members and keys: an amount per day, week or month. `budget_charged` and `budget_held` sum up
-- the receipts and live holds of requests that began at `budget_start` or later.
ALTER TABLE members
    ADD COLUMN budget bigint CHECK (budget >= 0),
    ADD COLUMN budget_period text CHECK (budget_period IN ('day', 'week', 'month')),
    ADD COLUMN budget_start bigint NOT NULL DEFAULT 0,
    ADD COLUMN budget_charged bigint NOT NULL DEFAULT 0,
    ADD COLUMN budget_held bigint NOT NULL DEFAULT 0;
ALTER TABLE lineages
    ADD COLUMN budget bigint CHECK (budget >= 0),
    ADD COLUMN budget_period text CHECK (budget_period IN ('day', 'week', 'month')),
    ADD COLUMN budget_start bigint NOT NULL DEFAULT 0,
    ADD COLUMN budget_charged bigint NOT NULL DEFAULT 0,
    ADD COLUMN budget_held bigint NOT NULL DEFAULT 0;
