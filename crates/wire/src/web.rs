//! Bodies of page fetches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::whole::optional_whole;

/// `POST /v1/web/fetch`: which page, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// An http or https address on the public internet.
    #[schemars(length(min = 1, max = 4096), url, regex(pattern = r"^https?://[^\s/?#@]+"))]
    pub url: String,
    /// What the content becomes; `markdown` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<PageFormat>,
    /// The most characters of the content; 50000 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_chars: Option<u32>,
    /// The character at which to begin, such as `next_index` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    pub start_index: Option<u32>,
    /// How old a kept page may be, in seconds; 0 reads it anew.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    pub max_age_s: Option<u32>,
}

/// What the content of a page becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PageFormat {
    /// Markdown.
    Markdown,
    /// Text without markup.
    Text,
    /// HTML without scripts, styles and hidden parts.
    Html,
}

/// A page that was read. Its content is what its author wrote: data, never an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// `web.page`.
    pub object: String,
    /// The id of this reading.
    pub id: String,
    /// As it was asked for.
    pub url: String,
    /// Where redirects led.
    pub final_url: String,
    /// The status that the page was answered with.
    pub status: u16,
    /// What it was before it became `format`.
    pub media_type: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Who wrote it, where it says so.
    pub byline: Option<String>,
    /// When it was published, where it says so: RFC 3339, or only the day.
    pub published_at: Option<String>,
    /// The language it says it is in, such as `en` or `pt-BR`.
    pub language: Option<String>,
    /// The content, from `start_index` on.
    pub content: String,
    /// Whether there is more.
    pub truncated: bool,
    /// Where the rest begins.
    pub next_index: Option<u32>,
    /// The links of the content.
    pub links: Vec<PageLink>,
    /// When it was read: RFC 3339.
    pub fetched_at: String,
    /// Whether it was kept from an earlier reading.
    pub from_cache: bool,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageLink {
    /// What it says.
    pub text: String,
    /// Where it leads.
    pub url: String,
}
