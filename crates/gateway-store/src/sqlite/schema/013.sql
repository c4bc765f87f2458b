-- Processes that serve, each with the newest reload of the configuration that it has followed. Problems, one
-- on a line, kept it from using the new configuration.
CREATE TABLE processes (
    owner INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    generation INTEGER NOT NULL,
    problems TEXT NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

-- Providers that get no new requests.
CREATE TABLE drained_providers (
    name TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    actor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Alerts of operators. `key` names the condition: while it is set, the condition is not reported again.
CREATE TABLE alerts (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    key TEXT UNIQUE,
    ended_at INTEGER
) STRICT;

-- The outbox of alerts. `tries` is also the number of the newest claim.
CREATE TABLE alert_deliveries (
    alert INTEGER NOT NULL,
    channel TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    outcome TEXT CHECK (outcome IN ('delivered', 'given_up')),
    error TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (alert, channel)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at) WHERE outcome IS NULL;

-- The newest top-up of a member begins the period of alerts about its balance.
CREATE INDEX postings_of_credit ON postings (member, id) WHERE kind <> 'charge';
