//! Usage metrics: counting, storing, packaging and validating.
#![expect(missing_docs, reason = "the names of most items explain them")]

pub mod catalogue;
pub mod clock;
pub mod consent;
pub mod export;
pub mod lint;
pub mod mapping;
pub mod merge;
pub mod package;
pub mod recorder;
pub mod schema;
pub mod store;
mod text_enum;
pub mod validate;
