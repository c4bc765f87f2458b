//! What only a SQLite file does.

mod arrears;
mod chain;
mod crash;
mod disk;
mod files;
mod kinds;
mod limits;
mod log;
