//! Reading single pages of the public internet for members, and nothing that is not public.
//!
//! `target` says what an address may be made of, `guard` which hosts may be connected to;
//! `connect`, `exchange` and `decode` ask once, within limits; `reader` follows redirects and
//! robots.txt and keeps what was read; `extract` makes text of it, on a thread of its own. `page` is
//! what the rest of the service asks.

mod address;
mod cache;
mod connect;
mod decode;
mod exchange;
pub(crate) mod extract;
mod fault;
mod guard;
mod media;
mod page;
mod places;
mod reader;
mod resolve;
mod robots;
mod target;

pub(crate) use fault::Fault;
pub(crate) use page::page;
pub(crate) use reader::{Found, Reader, Wanted};
pub use resolve::{Resolve, Resolving};
pub(crate) use target::Target;
