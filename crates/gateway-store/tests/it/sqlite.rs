//! What only a SQLite file does.

mod crash;
mod disk;
mod files;
mod limits;
mod log;
