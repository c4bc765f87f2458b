//! The laws of the ledger, whatever is done in whatever order.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod laws;
mod model;
mod tables;
