//! Aliases: other names for one model, for several in the order they are tried, or for several by
//! weight.
//!
//! An alias may name aliases. The result is groups of models: the first group is tried first,
//! and within a group the weights decide.

mod resolve;

use schemars::JsonSchema;
use serde::Deserialize;
use settings::{Located, Position, Problem, Reader, quoted, section};

use super::model::{Caps, MAX_CONTEXT, MAX_DESCRIPTION};
use super::price::Micros;
use super::provider::MAX_WEIGHT;

pub(super) use resolve::{check_prices, resolve};

pub const MAX_ALIASES: usize = 1024;
/// Maximum number of models behind one alias.
pub const MAX_TARGETS: usize = 64;
const TARGETS: &str = "must name 1 to 64 models";

/// Another name for models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Alias {
    #[serde(skip)]
    pub name: String,
    /// What it leads to: groups in the order they are tried. None is empty.
    #[serde(skip)]
    pub groups: Vec<Vec<Target>>,
    /// Price of a request. Default: from the price list.
    #[schemars(with = "Option<Micros>")]
    pub price_micros: Option<i64>,
    /// Description of the alias, at most 2000 characters.
    #[schemars(length(max = MAX_DESCRIPTION), extend("x-wanted" = "a string"))]
    pub description: Option<String>,
    /// Context length in tokens.
    #[schemars(range(min = 1, max = MAX_CONTEXT))]
    pub context_length: Option<u64>,
    /// How much one request may ask of it; where there is no cap, that of its models applies.
    #[serde(flatten)]
    pub caps: Caps,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub provider: String,
    pub model: String,
    pub weight: u32,
}

/// An alias: a full id, a list of ids in the order in which they are tried, or a mapping. Its name
/// is 1 to 128 letters, digits and the characters `._-/:`. A name with `*` or `?`, as in
/// `claude-*`, matches every name that is not otherwise defined.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>, extend("x-short" = "targets", "x-order" = [
    "targets", "price_micros", "description", "context_length", "max_n", "max_tokens",
    "max_message_bytes", "max_images",
]))]
pub(super) struct AliasFile {
    /// Ids or aliases in the order in which they are tried, or mappings with `model` and `weight`.
    #[serde(default)]
    #[schemars(length(min = 1, max = MAX_TARGETS))]
    #[schemars(extend("x-missing" = "list the models of the alias"))]
    #[schemars(extend("x-size" = TARGETS, "x-empty" = TARGETS))]
    targets: Vec<TargetFile>,
    #[serde(flatten)]
    alias: Alias,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TargetFile {
    Name(#[schemars(extend("x-wanted" = MODEL))] Located),
    Weighted(WrittenTarget),
}

const MODEL: &str = "a model as `<provider>/<model>`, or an alias";

/// One of several models chosen by weight.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
struct WrittenTarget {
    /// A full id, or an alias for a single model.
    #[schemars(extend("x-wanted" = MODEL))]
    #[schemars(extend("x-missing" = "name a model as `<provider>/<model>`"))]
    model: Located,
    /// Weight of the model, at least 1. Default: the weight of its provider.
    #[schemars(range(min = 1, max = MAX_WEIGHT))]
    weight: Option<u32>,
}

pub(super) struct Written {
    alias: Alias,
    position: Position,
    targets: Vec<WrittenTarget>,
    is_weighted: bool,
}

pub(super) fn written(aliases: Vec<(String, AliasFile)>, reader: &mut Reader<'_>) -> Vec<Written> {
    let mut read = Vec::with_capacity(aliases.len());
    for (name, AliasFile { targets, alias }) in aliases {
        let path = format!("models.{name}");
        let weighted =
            targets.iter().filter(|target| matches!(target, TargetFile::Weighted(_))).count();
        if weighted != 0 && weighted != targets.len() {
            let inner = format!("{path}.targets");
            let key = if reader.is_set(&inner) { inner } else { path.clone() };
            let message = "mixes names and mappings in one list";
            let hint = "use either names, tried in order, or mappings with `model` and `weight`";
            reader.refuse_key(&key, message, hint);
            continue;
        }
        let mut distinct: Vec<WrittenTarget> = Vec::with_capacity(targets.len());
        for target in targets {
            let target = match target {
                TargetFile::Name(model) => WrittenTarget { model, weight: None },
                TargetFile::Weighted(target) => target,
            };
            if distinct.iter().any(|other| other.name() == target.name()) {
                let (key, message) =
                    (&target.model.key, format!("{} is named twice", target.shown()));
                let position = reader.position(key.trim_end_matches(".model"));
                let problem = Problem::error(position, message);
                reader.report(key, problem.hint("remove one of them"));
                continue;
            }
            distinct.push(target);
        }
        let position = reader.owner(&path);
        let (alias, is_weighted) = (Alias { name, ..alias }, weighted > 0);
        read.push(Written { alias, position, targets: distinct, is_weighted });
    }
    read
}

impl WrittenTarget {
    fn name(&self) -> &str {
        self.model.value.value().trim()
    }

    /// The name for messages; never contains the value of a variable.
    fn shown(&self) -> String {
        quoted(self.model.value.shown().trim())
    }
}
