//! Reads single pages, only from the public internet.
//!
//! `target` parses addresses, `guard` decides which hosts may be connected to; `connect`,
//! `exchange` and `decode` send one request, within limits; [`Reader`] follows redirects and
//! robots.txt, caches pages, and has them parsed in a confined process (`document_parser`).
#![expect(missing_docs, reason = "the names of most items explain them")]

mod connect;
mod decode;
mod exchange;
mod fault;
mod guard;
mod reader;
mod robots;
mod target;
mod ttl_cache;

pub use fault::Fault;
pub use guard::{AllowedPrivate, PrivatePlace, Resolve, Resolving};
pub use reader::{FetchedPage, Image, ReadRequest, Reader, ReaderOptions, Reading};
pub use robots::normalized_path;
pub use target::Target;
pub use ttl_cache::{CacheLimits, TtlCache};
