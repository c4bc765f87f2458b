//! Differences between two configurations, for a reload.

use settings::{Node, Position, Problem};

use super::Config;

/// A key, and whether two configurations agree on it.
type Comparison = (&'static str, fn(&Config, &Config) -> bool);

/// Keys that need a restart: sockets, the database and everything opened with it.
const FIXED: &[Comparison] = &[
    ("listen", |a, b| a.listen == b.listen),
    ("metrics_listen", |a, b| a.metrics_listen == b.metrics_listen),
    ("database", |a, b| a.database == b.database),
    ("key_secret", |a, b| a.key_secret == b.key_secret),
    ("idempotency_hours", |a, b| a.idempotency == b.idempotency),
    ("time_zone", |a, b| a.calendar == b.calendar),
    ("hold_lease_seconds", |a, b| a.hold_lease == b.hold_lease),
    ("log.format", |a, b| a.log.format == b.log.format),
    ("log.level", |a, b| a.log.level == b.log.level),
    ("limits.max_connections", |a, b| a.limits.max_connections == b.limits.max_connections),
    ("limits.max_connections_per_address", |a, b| {
        a.limits.max_connections_per_address == b.limits.max_connections_per_address
    }),
    ("limits.exempt_addresses", |a, b| a.limits.exempt_addresses == b.limits.exempt_addresses),
];

const CHANGEABLE: &[Comparison] = &[
    ("public_url", |a, b| a.public_url == b.public_url),
    ("artifacts", |a, b| a.artifacts == b.artifacts),
    ("media", |a, b| a.media == b.media),
    ("downloads", |a, b| a.downloads == b.downloads),
    ("admin_token", |a, b| a.admin_token == b.admin_token),
    ("providers", |a, b| a.providers == b.providers && a.search.providers == b.search.providers),
    ("models", |a, b| a.aliases == b.aliases),
    ("prices", |a, b| a.prices == b.prices),
    ("limits", |a, b| a.limits == b.limits),
    ("on_client_gone", |a, b| a.on_client_gone == b.on_client_gone),
    ("remote_images", |a, b| a.remote_images == b.remote_images),
    ("responses_days", |a, b| a.responses_kept == b.responses_kept),
    ("fetch", |a, b| a.fetch == b.fetch),
    ("search", |a, b| {
        (a.search.cache, a.search.share_cache) == (b.search.cache, b.search.share_cache)
    }),
    ("research", |a, b| a.research == b.research),
    ("mcp", |a, b| a.mcp == b.mcp),
    ("log", |a, b| a.log == b.log),
    ("trace", |a, b| a.trace == b.trace),
    ("alerts", |a, b| a.alerts == b.alerts),
];

impl Config {
    /// The reloadable keys on which a new configuration differs.
    pub fn changed_keys(&self, new: &Self) -> Vec<&'static str> {
        differing(CHANGEABLE, self, new).collect()
    }
}

/// The problems of a file that differs on keys that need a restart.
pub(super) fn fixed_changes(
    running: &Config,
    new: &Config,
    positions: &[(&'static str, Position)],
) -> Vec<Problem> {
    let problem = |key| {
        let position = positions.iter().find(|(known, _)| *known == key);
        let position = position.map_or(Position::default(), |(_, position)| *position);
        let message = "cannot change while the service runs";
        Problem::error(position, message).at(key).hint("restart the service, or change it back")
    };
    differing(FIXED, running, new).map(problem).collect()
}

fn differing<'a>(
    keys: &'static [Comparison],
    old: &'a Config,
    new: &'a Config,
) -> impl Iterator<Item = &'static str> + 'a {
    keys.iter().filter(|(_, is_same)| !is_same(old, new)).map(|(key, _)| *key)
}

pub(super) fn fixed_keys(root: &Node) -> Vec<(&'static str, Position)> {
    let position = |key: &str| {
        let mut node = Some(root);
        let mut found = None;
        for part in key.split('.') {
            let entry = node?.entries().iter().find(|(key, _)| key.text == part)?;
            (found, node) = (Some(entry.0.position), Some(&entry.1));
        }
        found
    };
    FIXED.iter().filter_map(|(key, _)| Some((*key, position(key)?))).collect()
}
