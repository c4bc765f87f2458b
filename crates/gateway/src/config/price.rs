//! Prices of requests, in whole micro-credits: `prices`.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Map;
use settings::section;

/// Maximum price of one request, in micro-credits: 10⁹ credits. Every whole number up to it is
/// exact in the file.
pub const MAX_PRICE_MICROS: i64 = 1_000_000_000_000_000;
pub const MAX_PRICES: usize = 4096;
/// Default price of a request that uses an upstream.
pub(super) const DEFAULT_PRICE_MICROS: i64 = 1000;

/// Declares every operation: its variant, its word, its default price and its meaning.
macro_rules! operations {
    ($($name:ident $word:literal $price:expr, $meaning:literal;)+) => {
        /// A priced operation. Listing and polling are operations too.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Operation {
            $(#[doc = $meaning] $name,)+
        }

        const OPERATIONS: &[(Operation, &str, i64, &str)] =
            &[$((Operation::$name, $word, $price, $meaning),)+];
    };
}

operations! {
    Chat "chat" DEFAULT_PRICE_MICROS, "A chat completion or a message.";
    CountTokens "count_tokens" 0, "Counting the tokens of a request.";
    Responses "responses" DEFAULT_PRICE_MICROS, "A response.";
    ResponsesRead "responses_read" 0, "Reading a stored response.";
    Models "models" 0, "Listing models.";
    Me "me" 0, "Reading the caller's own record.";
    Capabilities "capabilities" 0, "Listing capabilities.";
    Research "research" DEFAULT_PRICE_MICROS, "A research job.";
    ResearchRead "research_read" 0, "Reading a research job.";
    Embeddings "embeddings" DEFAULT_PRICE_MICROS, "Text embeddings.";
    Moderations "moderations" 0, "Moderation of texts and images.";
    Rerank "rerank" DEFAULT_PRICE_MICROS, "Reranking documents by relevance.";
    Media "media" DEFAULT_PRICE_MICROS, "Generating images and speech, and transcribing speech.";
    MediaRead "media_read" 0, "Reading generated media.";
    Search "search" DEFAULT_PRICE_MICROS, "A web search.";
    Fetch "fetch" DEFAULT_PRICE_MICROS, "Reading a page.";
}

section! {
    /// Prices of requests.
    #[derive(PartialEq, Eq)]
    pub struct Prices {
        /// Price of each operation.
        default_micros: DefaultPrices,
        /// Prices in micro-credits by full id, alias, or glob with `*` and `?`.
        // Exact ids first, then globs, the longest first.
        #[serde(deserialize_with = "by_rank")]
        #[schemars(with = "BTreeMap<String, Micros>")]
        #[schemars(extend("maxProperties" = MAX_PRICES, "x-items" = "prices", "default" = null))]
        models: Vec<(Pattern, i64)>,
    }
}

/// `prices.default_micros`: the price of every operation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<String, i64>")]
struct DefaultPrices(Vec<(Operation, i64)>);

impl From<BTreeMap<String, i64>> for DefaultPrices {
    fn from(given: BTreeMap<String, i64>) -> Self {
        let price = |word: &str, default| given.get(word).copied().unwrap_or(default);
        let all = OPERATIONS.iter();
        Self(all.map(|(operation, word, default, _)| (*operation, price(word, *default))).collect())
    }
}

impl Default for DefaultPrices {
    fn default() -> Self {
        BTreeMap::new().into()
    }
}

impl JsonSchema for DefaultPrices {
    fn schema_name() -> Cow<'static, str> {
        "DefaultPrices".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut keys = Map::new();
        for (_, word, price, meaning) in OPERATIONS {
            let mut key = Micros::json_schema(generator);
            key.insert("default".to_owned(), (*price).into());
            key.insert("description".to_owned(), (*meaning).into());
            keys.insert((*word).to_owned(), key.into());
        }
        let order: Vec<&str> = OPERATIONS.iter().map(|(_, word, ..)| *word).collect();
        json_schema!({
            "type": "object",
            "properties": keys,
            "x-order": order,
            "x-about": "Price of one request of each operation, unless a more specific price \
                        applies. Listing and polling are operations too.",
        })
    }
}

/// The schema of a price.
pub(super) struct Micros;

impl JsonSchema for Micros {
    fn schema_name() -> Cow<'static, str> {
        "Micros".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer", "format": "micros", "x-type": "micros",
            "minimum": 0, "maximum": MAX_PRICE_MICROS,
        })
    }
}

impl Operation {
    pub fn all() -> impl Iterator<Item = Self> {
        OPERATIONS.iter().map(|(operation, ..)| *operation)
    }

    pub fn as_str(self) -> &'static str {
        OPERATIONS.iter().find(|(known, ..)| *known == self).map_or("chat", |(_, word, ..)| word)
    }
}

impl Prices {
    /// Price of an operation with the model of this full id.
    pub fn of(&self, operation: Operation, id: &str) -> i64 {
        let listed = self.models.iter().find(|(pattern, _)| pattern.matches(id));
        listed.map_or_else(|| self.default_of(operation), |(_, price)| *price)
    }

    /// The price of exactly this name; globs are for full ids only.
    pub fn of_name(&self, name: &str) -> Option<i64> {
        self.models.iter().find(|(pattern, _)| pattern.as_str() == name).map(|(_, price)| *price)
    }

    pub fn default_of(&self, operation: Operation) -> i64 {
        self.default_micros
            .0
            .iter()
            .find(|(known, _)| *known == operation)
            .map_or(0, |(_, price)| *price)
    }

    pub fn models(&self) -> &[(Pattern, i64)] {
        &self.models
    }
}

/// The full id of a model, or a glob with `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pattern(String);

impl Pattern {
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can match more than one name.
    pub fn is_glob(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Whether it matches the whole of a name; `*` matches any characters, including `/`.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // Where to resume if the text after the last `*` does not match: one character later.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p + 1, n));
                    p += 1;
                }
                Some(byte) if *byte == b'?' || *byte == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((after, from)) = star else { return false };
                    star = Some((after, from + 1));
                    (p, n) = (after, from + 1);
                }
            }
        }
        pattern[p..].iter().all(|byte| *byte == b'*')
    }
}

fn by_rank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Pattern, i64)>, D::Error> {
    let mut models = Vec::<(Pattern, i64)>::deserialize(deserializer)?;
    models.sort_by_key(|(pattern, _)| (pattern.is_glob(), Reverse(pattern.as_str().len())));
    Ok(models)
}

#[cfg(test)]
mod tests;
