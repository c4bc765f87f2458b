//! The ledger against a simple model, under any sequence of operations.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod laws;
mod model;
mod tables;
