//! What only a SQLite file does.

mod crash;
mod disk;
mod files;
mod log;
