//! The files of language models on this machine: the folder they are in, and how they get there.
//!
//! A file becomes visible under its name only when it is whole: what is fetched or copied grows in
//! a folder beside it ([`staging`]) and is moved in one step. One process at a time changes the
//! folder. Nothing here writes to the terminal but through what it is handed.

pub(crate) mod add;
pub(crate) mod fetch;
pub(crate) mod known_models;
pub(crate) mod model_dir;
mod pip;
mod staging;
mod wheel;
