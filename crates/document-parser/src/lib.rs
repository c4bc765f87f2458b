//! Parses untrusted documents: web pages, PDF files, images and audio.
//!
//! The parsers run in worker processes ([`worker`]) that drop their privileges before they read a byte:
//! limited memory and CPU time, no files, no network, no new processes. The [`Pool`] keeps a few workers
//! running and kills those that exceed their limits. The crate opens no connection.
#![expect(missing_docs, reason = "the names of most items explain them")]

mod audio;
mod confine;
mod file;
mod frame;
mod image;
mod job;
pub mod markup;
pub mod media_type;
mod page;
mod pdf;
mod pool;
mod rejection;
pub mod worker;

pub use audio::AudioKind;
pub use confine::{Confinement, Landlock, Limits};
pub use file::{FileFormat, FileText};
pub use image::scale::{ImageLimits, ScaledImage};
pub use job::{Job, Parsed, parse};
pub use page::{Document, PageJob};
pub use pool::{Error, Pool, WorkerProgram};
pub use rejection::{MediaError, Rejection};
