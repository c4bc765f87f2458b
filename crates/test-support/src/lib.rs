//! Real peers for tests: the program itself, file systems that fail, MCP servers, model servers and
//! the clients of members, authorization servers, a database server, and a browser.
//!
//! Nothing here imitates a part of ours. It knows neither the program's code nor its formats.

pub mod browser;
pub mod clock;
pub mod collector;
pub mod command;
pub mod disk;
pub mod files;
mod http;
pub mod mcp;
pub mod nginx;
pub mod oauth;
pub mod pdf;
pub mod port;
pub mod postgres;
pub mod s3;
pub mod sdk;
pub mod upstream;
pub mod wait;
pub mod weights;
