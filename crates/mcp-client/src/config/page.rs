//! The reference page, generated from the schema.

use settings::limits_table;

use super::read::{schema, schema_for_all};
use super::{MAX_CONFIG_BYTES, MAX_FILTERS, MAX_HEADERS, MAX_LAUNCH_ITEMS, MAX_SERVERS};

/// `docs/mcp-config.md`.
pub fn page() -> String {
    let limits = limits_table(&[
        ("configuration file", format!("{MAX_CONFIG_BYTES} bytes")),
        ("servers", MAX_SERVERS.to_string()),
        ("arguments or variables per server", format!("{MAX_LAUNCH_ITEMS} each")),
        ("headers per server", MAX_HEADERS.to_string()),
        ("names per filter", MAX_FILTERS.to_string()),
    ]);
    let keys = schema().chapters("A server") + &schema_for_all().chapters("`mcp`");
    include_str!("page.md").replace("<!-- keys -->\n", &keys).replace("<!-- limits -->\n", &limits)
}

#[cfg(test)]
mod tests;
