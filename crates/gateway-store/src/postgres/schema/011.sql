-- Teams are accounts of another kind, which pay for the requests of their members.
ALTER TABLE members
    ADD COLUMN kind text NOT NULL DEFAULT 'member'
        CHECK (kind IN ('member', 'team', 'removed_team')),
    ADD COLUMN role text NOT NULL DEFAULT 'member'
        CHECK (role IN ('member', 'manager', 'operator')),
    ADD COLUMN team bigint;
CREATE INDEX members_of_teams ON members (team, id) WHERE team IS NOT NULL;
CREATE INDEX members_that_are_teams ON members (id) WHERE kind = 'team';

-- The team that pays. Without one, the member pays.
ALTER TABLE holds ADD COLUMN payer bigint;
ALTER TABLE receipts ADD COLUMN payer bigint;
CREATE INDEX receipts_of_teams ON receipts (member, id) WHERE payer IS NOT NULL;

-- Usage by the team that paid, 0 if the member paid.
ALTER TABLE usage ADD COLUMN team bigint NOT NULL DEFAULT 0;
ALTER TABLE usage DROP CONSTRAINT usage_pkey,
    ADD PRIMARY KEY (day, member, lineage, operation, model, team);
CREATE INDEX usage_of_teams ON usage (team, day) WHERE team <> 0;
