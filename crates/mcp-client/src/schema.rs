//! Input schemas made fit for strict model APIs.
//!
//! Servers write whatever their framework makes; one schema that a model API refuses spoils every
//! request. The repair keeps meaning where it can and loosens it where it must: the server judges
//! the arguments in the end, and it is asked by its own schema, which stays in the
//! [`Tool`](crate::tool::Tool).

mod mend;
mod reference;
mod root;
mod size;
mod sound;
mod union;
mod walk;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use size::estimate_tokens;
pub(crate) use size::tokens_of_bytes;

/// The most different notes about one schema.
pub const MAX_NOTES: usize = 8;
/// The most rounds of repair; one mends nearly all, another sees what that left.
const MAX_ROUNDS: usize = 12;
/// In this round, what leads back to itself is cut.
const LAST_PATIENT_ROUND: usize = 8;

/// A repaired schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// An object schema with `type` and `properties`.
    pub schema: Value,
    /// What was changed; empty if nothing was.
    pub notes: Vec<String>,
}

/// Repairs an input schema. What is repaired once is not changed again.
pub fn repair(schema: &Value) -> Repaired {
    if sound::sound(schema) {
        return Repaired { schema: schema.clone(), notes: Vec::new() };
    }
    let mut work = Work::default();
    let mut schema = if let Value::Object(object) = schema {
        object.clone()
    } else {
        work.did("the schema is not an object; an empty one is used");
        Map::new()
    };
    for round in 1..=MAX_ROUNDS {
        work.changed = false;
        if round == LAST_PATIENT_ROUND {
            root::cut_circles(&mut schema);
        }
        mend_once(&mut schema, &mut work);
        if !work.changed || sound::sound_root(&schema) {
            break;
        }
    }
    Repaired { schema: Value::Object(schema), notes: work.finish() }
}

/// A schema as models are offered it, with its size. It is made while a tool is read, when the
/// schema is warm in the cache: going through ten thousand cold ones costs more than all the
/// rest of building a registry.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) schema: Arc<Value>,
    pub(crate) notes: Vec<String>,
    pub(crate) compact_bytes: usize,
}

impl Offer {
    /// Repairs a schema; one that needs nothing is shared and not copied.
    pub(crate) fn of(schema: &Arc<Value>) -> Self {
        let (schema, notes) = if sound::sound(schema) {
            (Arc::clone(schema), Vec::new())
        } else {
            let Repaired { schema, notes } = repair(schema);
            (Arc::new(schema), notes)
        };
        Self { compact_bytes: size::compact_bytes(&schema), schema, notes }
    }
}

/// One round: inner schemas first, then what needs the whole.
fn mend_once(schema: &mut Map<String, Value>, work: &mut Work) {
    walk::each(schema, &mut |node| mend::node(node, work));
    reference::settle(schema, work);
    root::flatten(schema, work);
}

/// What a repair has done so far.
#[derive(Default)]
struct Work {
    notes: Vec<Cow<'static, str>>,
    more: usize,
    changed: bool,
}

impl Work {
    /// Something was changed, for the given reason.
    fn did(&mut self, note: impl Into<Cow<'static, str>>) {
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
            notes.push(format!("{} further changes", self.more));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
