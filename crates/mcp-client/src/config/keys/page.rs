//! The page of the documentation, made from the table.

/// `docs/mcp-config.md`.
pub fn page() -> String {
    String::new()
}
