//! Reads the text of `gateway.yaml` into a configuration, or all problems with it; the reference
//! page of its schema.

use std::path::Path;
use std::sync::LazyLock;

use settings::{
    Field, KnownSecret, MAX_CONFIG_BYTES, MAX_PROBLEMS, Node, Position, Problem, Reader, Schema,
    Scope, Strictness, Value, in_order, limits_table,
};

use super::changes::{fixed_changes, fixed_keys};
use super::format::FORMATS;
use super::{
    Config, MAX_ALIASES, MAX_HEADERS, MAX_MODELS, MAX_PRICES, MAX_PROVIDERS, MAX_TARGETS, example,
};

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
    /// The keys that differ from the running configuration but need a restart.
    pub fn fixed_changes(&self, running: &Config) -> Vec<Problem> {
        let new = self.config.as_ref();
        new.map_or(Vec::new(), |new| fixed_changes(running, new, &self.fixed))
    }
}
