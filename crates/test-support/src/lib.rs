//! Real peers for tests: the program itself, file systems that fail, MCP servers,
//! authorization servers, and a browser.
//!
//! Nothing here imitates a part of ours. It knows neither the program's code nor its formats.

pub mod browser;
pub mod command;
pub mod disk;
mod http;
pub mod mcp;
pub mod oauth;
pub mod ports;
pub mod postgres;
pub mod wait;
