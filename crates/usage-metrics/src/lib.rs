//! The usage-metrics package.

pub mod catalogue;
pub mod lint;
pub mod mapping;
pub mod schema;
pub mod validate;
