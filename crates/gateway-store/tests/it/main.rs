//! The store on real databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod migration;
mod postgres;
mod sqlite;
mod suite;
mod test_database;
