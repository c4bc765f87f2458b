//! The generated reference page of the schema.

use settings::{MAX_CONFIG_BYTES, MAX_PROBLEMS, limits_table};

use super::read::schema;
use super::{
    MAX_ALIASES, MAX_HEADERS, MAX_MODELS, MAX_PRICES, MAX_PROVIDERS, MAX_TARGETS, example,
};

/// `docs/gateway-config.md`.
pub fn reference() -> String {
    let limits = limits_table(&[
        ("file size", format!("{MAX_CONFIG_BYTES} bytes")),
        ("reported problems", MAX_PROBLEMS.to_string()),
        ("providers", MAX_PROVIDERS.to_string()),
        ("models per provider", MAX_MODELS.to_string()),
        ("extra headers per provider", MAX_HEADERS.to_string()),
        ("aliases", MAX_ALIASES.to_string()),
        ("models per alias", MAX_TARGETS.to_string()),
        ("models and globs in the price list", MAX_PRICES.to_string()),
    ]);
    include_str!("page.md")
        .replace("<!-- example -->\n", example())
        .replace("<!-- keys -->\n", &schema().chapters("The file"))
        .replace("<!-- limits -->\n", &limits)
}

#[cfg(test)]
mod tests;
