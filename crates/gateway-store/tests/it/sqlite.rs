//! Behaviour of SQLite files only.

mod checkpoints;
mod crash;
mod deferred_rows;
mod disk;
mod files;
mod limits;
mod posting_chain;
mod posting_kinds;
