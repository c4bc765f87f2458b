//! Bodies of the member API, its errors, its keys and the codec of its event streams; no I/O.
//!
//! Shared by the service and by clients of it. Bodies that only pass through (chat
//! completions, responses) have no types here: unknown fields are passed on untouched.

pub mod account;
pub mod admin;
pub mod capability;
pub mod download;
pub mod error;
pub mod json;
pub mod key;
pub mod media;
pub mod model;
pub mod research;
pub mod search;
pub mod sse;
pub mod usage;
pub mod web;
pub mod whole;
