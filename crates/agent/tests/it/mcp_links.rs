//! Servers that come by a link, links for servers, and what makes a desktop open them.

mod create;
mod hostile;
mod install;
mod register;

use mcp_client::install_link;
use serde_json::{Map, Value};

/// The link that offers a server.
fn link(name: &str, entry: &Value) -> String {
    install_link::build(name, entry.as_object().unwrap_or(&Map::new())).unwrap()
}
