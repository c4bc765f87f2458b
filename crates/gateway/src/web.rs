//! Reading single pages of the public internet for members, and nothing that is not public.
//!
//! `target` says what an address may be made of, `guard` which hosts may be connected to;
//! `connect`, `exchange` and `decode` ask once, within limits; `reader` follows redirects and
//! robots.txt, keeps what was read, and has it parsed in a confined process (`document_parser`);
//! `timeouts` limits pages that come to nothing. `page` is what the rest of the service asks.

mod address;
mod cache;
mod connect;
mod decode;
mod exchange;
mod fault;
mod guard;
mod page;
mod places;
mod reader;
mod resolve;
mod robots;
mod target;
mod timeouts;

pub(crate) use fault::Fault;
pub(crate) use page::page;
pub(crate) use reader::{Found, Reader, Wanted};
pub use resolve::{Resolve, Resolving};
pub(crate) use target::Target;
