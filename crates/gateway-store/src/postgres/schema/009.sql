-- Processes that serve, each with the newest reload of the configuration that it has followed. Problems, one
-- on a line, kept it from using the new configuration.
CREATE TABLE processes (
    owner bigint PRIMARY KEY,
    name text NOT NULL,
    generation bigint NOT NULL,
    problems text NOT NULL,
    seen_at bigint NOT NULL
);

-- Providers that get no new requests.
CREATE TABLE drained_providers (
    name text PRIMARY KEY,
    since bigint NOT NULL,
    actor text NOT NULL
);

-- Alerts of operators. `key` names the condition: while it is set, the condition is not reported again.
CREATE TABLE alerts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    message text NOT NULL,
    key text UNIQUE,
    ended_at bigint
);

-- The outbox of alerts. `tries` is also the number of the newest claim.
CREATE TABLE alert_deliveries (
    alert bigint NOT NULL,
    channel text NOT NULL,
    tries bigint NOT NULL DEFAULT 0,
    due_at bigint NOT NULL,
    outcome text CHECK (outcome IN ('delivered', 'given_up')),
    error text NOT NULL DEFAULT '',
    PRIMARY KEY (alert, channel)
);
CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at) WHERE outcome IS NULL;

-- The newest top-up of a member begins the period of alerts about its balance.
CREATE INDEX postings_credit ON postings (member, id) WHERE kind <> 'charge';
