//! Real peers for tests: the program itself, failing file systems, MCP servers, model servers, SDK
//! clients, authorization servers, a database server, and a browser.
//!
//! Nothing here imitates our code, or depends on it.
#![expect(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    clippy::expect_used,
    clippy::panic,
    reason = "names say what helpers do, and all of them fail when a peer cannot be used"
)]

pub mod browser;
pub mod clock;
pub mod collector;
pub mod command;
pub mod disk;
pub mod files;
mod http;
pub mod json_schema;
pub mod keyring;
pub mod mcp;
pub mod nginx;
pub mod oauth;
pub mod pdf;
pub mod port;
pub mod postgres;
mod process_tree;
pub mod s3;
pub mod sdk;
pub mod smtp;
pub mod upstream;
pub mod wait;
pub mod weights;
