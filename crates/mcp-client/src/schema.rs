//! Repair of input schemas for strict model APIs.
//!
//! One schema that a model API rejects fails every request. The repair keeps the meaning where
//! possible and loosens it otherwise: the server validates the arguments by its own schema, which
//! stays in the [`Tool`](crate::tool::Tool).

mod reference;
mod repair_rules;
mod root;
mod union;
mod validate;
mod walk;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use validate::violation;

pub const MAX_NOTES: usize = 8;
type Object = Map<String, Value>;

/// Maximum number of repair rounds. One suffices for nearly all schemas; the next confirms it.
const MAX_ROUNDS: usize = 12;
/// In this round, self-references at the root are removed.
const LAST_PATIENT_ROUND: usize = 8;

const BYTES_PER_TOKEN: usize = 4;
const TOKENS_AROUND_A_TOOL: usize = 12;

#[derive(Debug, Clone, PartialEq)]
pub struct RepairedSchema {
    /// An object schema with `type` and `properties`.
    pub schema: Value,
    pub notes: Vec<String>,
}

/// Repairs an input schema. Idempotent.
pub fn repair(schema: &Value) -> RepairedSchema {
    let mut log = RepairLog::default();
    let mut schema = if let Value::Object(object) = schema {
        object.clone()
    } else {
        log.record("the schema is not an object; using an empty one");
        Map::new()
    };
    for round in 1..=MAX_ROUNDS {
        log.changed = false;
        if round == LAST_PATIENT_ROUND {
            for keyword in ["$ref", "allOf", "anyOf", "oneOf"] {
                schema.remove(keyword);
            }
        }
        repair_once(&mut schema, &mut log);
        if !log.changed {
            break;
        }
    }
    RepairedSchema { schema: Value::Object(schema), notes: log.finish() }
}

/// A schema as models see it, with its size. Computed while a tool is decoded and its schema is in
/// the CPU cache: with ten thousand cold schemas this would dominate the time to build a registry.
#[derive(Debug, Clone)]
pub(crate) struct ModelSchema {
    pub(crate) schema: Arc<Value>,
    pub(crate) notes: Vec<String>,
    pub(crate) compact_bytes: usize,
}

impl ModelSchema {
    /// Repairs a schema; one that needs no repair is shared, not copied.
    pub(crate) fn of(schema: &Arc<Value>) -> Self {
        let RepairedSchema { schema: repaired, notes } = repair(schema);
        let schema = if repaired == **schema { Arc::clone(schema) } else { Arc::new(repaired) };
        Self { compact_bytes: compact_bytes(&schema), schema, notes }
    }
}

/// Inner schemas first, then rules that need the whole schema.
fn repair_once(schema: &mut Object, log: &mut RepairLog) {
    walk::visit_all(schema, &mut |node| repair_rules::repair_node(node, log));
    reference::resolve_references(schema, log);
    root::flatten(schema, log);
}

#[derive(Default)]
struct RepairLog {
    notes: Vec<Cow<'static, str>>,
    more: usize,
    changed: bool,
}

impl RepairLog {
    fn record(&mut self, note: impl Into<Cow<'static, str>>) {
        self.changed = true;
        let note = note.into();
        if self.notes.contains(&note) {
            return;
        }
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        } else {
            self.more += 1;
        }
    }

    fn finish(self) -> Vec<String> {
        let mut notes: Vec<String> = self.notes.into_iter().map(Cow::into_owned).collect();
        if self.more > 0 {
            notes.push(format!("{} more changes", self.more));
        }
        notes
    }
}

/// Estimates the tokens that a tool with so many bytes of name, description and schema costs.
///
/// A rule of thumb to compare servers: four bytes of name, description and compact JSON schema
/// per token, rounded up, plus a dozen for what an API adds around each tool. Tokenizers
/// differ by more than this error; the estimate must be the same everywhere and cheap.
pub(crate) fn estimate_tokens(bytes: usize) -> u32 {
    let tokens = bytes.div_ceil(BYTES_PER_TOKEN) + TOKENS_AROUND_A_TOOL;
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// The length as compact JSON; escapes in strings count as one byte.
fn compact_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => match number.as_u64() {
            Some(number) => number.checked_ilog10().map_or(1, |digits| digits as usize + 1),
            None => number.to_string().len(),
        },
        Value::String(text) => text.len() + 2,
        // Brackets and commas.
        Value::Array(list) => {
            list.iter().map(|inner| compact_bytes(inner) + 1).sum::<usize>().max(1) + 1
        }
        Value::Object(object) => {
            let fields = object.iter().map(|(key, inner)| key.len() + compact_bytes(inner) + 4);
            fields.sum::<usize>().max(1) + 1
        }
    }
}

#[cfg(test)]
mod tests;
