-- Teams are accounts of another kind, which pay for the requests of their members.
ALTER TABLE members ADD COLUMN kind TEXT NOT NULL DEFAULT 'member'
    CHECK (kind IN ('member', 'team', 'removed_team'));
ALTER TABLE members ADD COLUMN role TEXT NOT NULL DEFAULT 'member'
    CHECK (role IN ('member', 'manager', 'operator'));
ALTER TABLE members ADD COLUMN team INTEGER;

CREATE INDEX members_of_teams ON members (team, id) WHERE team IS NOT NULL;
CREATE INDEX members_that_are_teams ON members (id) WHERE kind = 'team';

-- The team that pays. Without one, the member pays.
ALTER TABLE holds ADD COLUMN payer INTEGER;
ALTER TABLE receipts ADD COLUMN payer INTEGER;

CREATE INDEX holds_of_teams ON holds (payer) WHERE payer IS NOT NULL;
CREATE INDEX receipts_of_teams ON receipts (member, id) WHERE payer IS NOT NULL;

-- Usage by the team that paid, 0 if the member paid.
CREATE TABLE usage_of_15 (
    day INTEGER NOT NULL,
    member INTEGER NOT NULL,
    lineage INTEGER NOT NULL,
    operation TEXT NOT NULL,
    model TEXT NOT NULL,
    team INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    PRIMARY KEY (day, member, lineage, operation, model, team)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_of_15
    SELECT day, member, lineage, operation, model, 0, requests, input_tokens, output_tokens, charged
    FROM usage;
DROP TABLE usage;
ALTER TABLE usage_of_15 RENAME TO usage;
CREATE INDEX usage_of_teams ON usage (team, day) WHERE team <> 0;
