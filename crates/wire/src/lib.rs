//! Bodies of the member API, its errors, its keys and the codec of its event streams; no I/O.

pub mod sse;
