//! The files of language models on this machine: their folder, and additions to it.
//!
//! A file becomes visible under its name only when it is complete: downloads and copies grow
//! in a folder beside it ([`staging`]) and are moved in one step. One process at a time
//! changes the folder. Terminal output only goes through the passed session.

pub(crate) mod add;
pub(crate) mod fetch;
pub(crate) mod known_models;
pub(crate) mod model_dir;
mod pip;
mod staging;
mod wheel;
