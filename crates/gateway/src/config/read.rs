//! Reads the text of `gateway.yaml` into a configuration, or all problems with it; differences
//! between two configurations, for a reload; the reference page.

use std::path::Path;
use std::sync::LazyLock;

use settings::{
    Field, KnownSecret, MAX_CONFIG_BYTES, MAX_PROBLEMS, Node, Position, Problem, Reader, Schema,
    Scope, Strictness, Value, in_order, limits_table,
};

use super::format::FORMATS;
use super::{
    Config, MAX_ALIASES, MAX_HEADERS, MAX_MODELS, MAX_PRICES, MAX_PROVIDERS, MAX_TARGETS, example,
};

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
    ("remote_tools", |a, b| a.remote_tools == b.remote_tools),
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

#[derive(Debug, Clone)]
pub struct Reading {
    /// The configuration; `None` if any problem is an error.
    pub config: Option<Config>,
    /// Problems, in the order of the file.
    pub problems: Vec<Problem>,
    /// Values that must never be shown, the longest first.
    pub secrets: Vec<KnownSecret>,
    /// Positions of keys that need a restart.
    fixed: Vec<(&'static str, Position)>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Config>);

pub fn schema() -> &'static Schema {
    &SCHEMA
}

/// `docs/gateway-config.md`.
pub fn reference() -> String {
    let limits = limits_table(&[
        ("file size", format!("{MAX_CONFIG_BYTES} bytes")),
        ("reported problems", MAX_PROBLEMS.to_string()),
        ("providers", MAX_PROVIDERS.to_string()),
        ("models per provider", MAX_MODELS.to_string()),
        ("extra headers per provider", MAX_HEADERS.to_string()),
        ("aliases", MAX_ALIASES.to_string()),
        ("models per alias", MAX_TARGETS.to_string()),
        ("models and globs in the price list", MAX_PRICES.to_string()),
    ]);
    include_str!("page.md")
        .replace("<!-- example -->\n", example())
        .replace("<!-- keys -->\n", &schema().chapters("The file"))
        .replace("<!-- limits -->\n", &limits)
}

/// Reads the text of `gateway.yaml`. Relative paths start from `folder`, where the file is. All
/// problems are found at once, and no message quotes a secret.
pub fn read(text: &str, scope: &Scope, folder: &Path) -> Reading {
    let root = match Node::from_yaml(text) {
        Ok(root) => root,
        Err(problem) => {
            let problems = vec![problem];
            return Reading { config: None, problems, secrets: Vec::new(), fixed: Vec::new() };
        }
    };
    let mut reader = Reader::new(scope, None, Strictness::Strict);
    (reader.folder, reader.formats, reader.schema) = (Some(folder), &[FORMATS], Some(schema()));
    let root = if root.is_null() { Value::Map(Vec::new()).into() } else { root };
    let mut config: Option<Config> = if matches!(root.value, Value::Map(_)) {
        reader.read(schema(), &Field::of(&root))
    } else {
        let message = format!("the file must be a mapping, found {}", root.kind());
        reader.report("", Problem::error(root.position, message));
        None
    };
    if let Some(config) = &mut config {
        config.resolve(&mut reader, folder);
    }
    let (problems, secrets) = reader.finish();
    let is_usable = !problems.iter().any(Problem::is_error);
    let (config, problems) = (config.filter(|_| is_usable), in_order(problems));
    Reading { config, problems, secrets, fixed: fixed_keys(&root) }
}

impl Reading {
    /// The problems of a file that differs from the running configuration on keys that need a
    /// restart.
    pub fn fixed_changes(&self, running: &Config) -> Vec<Problem> {
        let Some(new) = &self.config else { return Vec::new() };
        let problem = |key| {
            let position = self.fixed.iter().find(|(known, _)| *known == key);
            let position = position.map(|(_, position)| *position).unwrap_or_default();
            let message = "cannot change while the service runs";
            Problem::error(position, message).at(key).hint("restart the service, or change it back")
        };
        differing(FIXED, running, new).map(problem).collect()
    }
}

impl Config {
    /// The reloadable keys on which a new configuration differs.
    pub fn changed_keys(&self, new: &Self) -> Vec<&'static str> {
        differing(CHANGEABLE, self, new).collect()
    }
}

fn differing<'a>(
    keys: &'static [Comparison],
    old: &'a Config,
    new: &'a Config,
) -> impl Iterator<Item = &'static str> + 'a {
    keys.iter().filter(|(_, is_same)| !is_same(old, new)).map(|(key, _)| *key)
}

fn fixed_keys(root: &Node) -> Vec<(&'static str, Position)> {
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
