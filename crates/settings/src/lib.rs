//! Configuration files: a tree with positions, variables, secrets, schemas and problems.
//!
//! A file becomes a tree of [`Node`]s. The structs that a file is read into declare its keys;
//! their [`Schema`] is what a [`Reader`] checks the tree against, resolving references in a
//! [`Scope`] and collecting every [`Problem`]. The meaning of keys is unknown here.

#![expect(missing_docs, reason = "the names of most items explain them")]

mod check;
mod duration;
pub mod env_file;
mod node;
mod problem;
mod reader;
mod schema;
mod scope;
mod secret;
mod text;

pub use check::{MAX_SECONDS, text_value};
pub use duration::{Days, DurationField, Hours, Seconds, SecondsOrZero, WholeSeconds};
pub use node::{
    Field, Key, MAX_CONFIG_BYTES, Node, Span, Value, duplicates, given_twice, not_yaml,
};
pub use problem::{MAX_PROBLEMS, Position, Problem, Severity, in_order};
pub use reader::{Format, Reader, Strictness, nearest, quoted, switch};
pub use schema::{DocumentedKey, DocumentedSection, Schema, limits_table, section, word};
pub use scope::{Origin, Reference, Scope, map_references};
pub use secret::{KnownSecret, MAX_SECRETS, Secrets, looks_like_token, looks_secret};
pub use text::{Located, Text};
