//! Configuration files: values with their places, variables, secrets, and what is wrong.
//!
//! A file becomes a tree of [`Node`]s. A [`Reader`] takes single values out of it, resolves their
//! references in a [`Scope`] and collects every [`Problem`]; a [`Section`] knows which keys of a
//! mapping were read, so that no other one is passed over in silence. What the keys mean is not
//! known here.

pub mod env_file;
mod node;
pub mod percent;
mod problem;
mod reader;
mod reference;
mod secret;
mod section;
mod text;

pub use node::{Key, MAX_CONFIG_BYTES, Node, Value};
pub use problem::{MAX_PROBLEMS, Place, Problem, Severity, in_order};
pub use reader::{MAX_SECONDS, Manner, Reader, Seconds, Zero, quoted, switch};
pub use reference::{Origin, Reference, Scope};
pub use secret::{KnownSecret, MAX_SECRETS, Secrets, looks_like_token, looks_secret};
pub use section::{
    Field, LEAST_LIKENESS, Section, dotted, duplicates, given_twice, nearest, plainly,
};
pub use text::Text;
