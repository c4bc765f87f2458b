//! What requests cost, in whole micro-credits.

use settings::{Field, Key, Node, Reader};

use super::mapping::{Mapping, price};

/// The highest price of one request, in micro-credits: a thousand million credits. Every whole
/// number up to it is exact in the file.
pub const MAX_PRICE_MICROS: i64 = 1_000_000_000_000_000;
/// The most entries of the price list.
pub const MAX_PRICES: usize = 4096;
/// What one request that uses an upstream costs, unless the configuration says otherwise.
pub(super) const DEFAULT_PRICE_MICROS: i64 = 1000;

/// Something that is charged for. Listing and polling are operations too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A chat completion.
    Chat,
    /// A response.
    Responses,
    /// Looking at a stored response.
    ResponsesRead,
    /// The list of models.
    Models,
    /// The caller's own record.
    Me,
    /// The list of capabilities.
    Capabilities,
    /// A research job.
    Research,
    /// Looking at a research job.
    ResearchRead,
    /// Making media.
    Media,
    /// Looking at media.
    MediaRead,
    /// A search.
    Search,
    /// Reading a page.
    Fetch,
}

/// Every operation, its word, and whether it costs something unless configured.
pub(super) const OPERATIONS: &[(Operation, &str, i64)] = &[
    (Operation::Chat, "chat", DEFAULT_PRICE_MICROS),
    (Operation::Responses, "responses", DEFAULT_PRICE_MICROS),
    (Operation::ResponsesRead, "responses_read", 0),
    (Operation::Models, "models", 0),
    (Operation::Me, "me", 0),
    (Operation::Capabilities, "capabilities", 0),
    (Operation::Research, "research", DEFAULT_PRICE_MICROS),
    (Operation::ResearchRead, "research_read", 0),
    (Operation::Media, "media", DEFAULT_PRICE_MICROS),
    (Operation::MediaRead, "media_read", 0),
    (Operation::Search, "search", DEFAULT_PRICE_MICROS),
    (Operation::Fetch, "fetch", DEFAULT_PRICE_MICROS),
];

impl Operation {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Chat,
        Self::Responses,
        Self::ResponsesRead,
        Self::Models,
        Self::Me,
        Self::Capabilities,
        Self::Research,
        Self::ResearchRead,
        Self::Media,
        Self::MediaRead,
        Self::Search,
        Self::Fetch,
    ];

    /// Its word in the price list.
    pub fn word(self) -> &'static str {
        OPERATIONS.iter().find(|(known, ..)| *known == self).map_or("chat", |(_, word, _)| word)
    }
}

/// The price list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    defaults: Vec<(Operation, i64)>,
    /// Exact ids first, then globs, the longest first.
    models: Vec<(Pattern, i64)>,
}

impl Default for Prices {
    fn default() -> Self {
        let defaults = OPERATIONS.iter().map(|(operation, _, price)| (*operation, *price));
        Self { defaults: defaults.collect(), models: Vec::new() }
    }
}

impl Prices {
    /// What an operation costs with the model of this full id.
    pub fn of(&self, operation: Operation, id: &str) -> i64 {
        let listed = self.models.iter().find(|(pattern, _)| pattern.matches(id));
        listed.map_or_else(|| self.default_of(operation), |(_, price)| *price)
    }

    /// The price of exactly this name; globs are for full ids only.
    pub fn of_name(&self, name: &str) -> Option<i64> {
        self.models.iter().find(|(pattern, _)| pattern.as_str() == name).map(|(_, price)| *price)
    }

    /// What an operation costs without a model.
    pub fn default_of(&self, operation: Operation) -> i64 {
        self.defaults.iter().find(|(known, _)| *known == operation).map_or(0, |(_, price)| *price)
    }

    /// The models and globs of the list.
    pub fn models(&self) -> &[(Pattern, i64)] {
        &self.models
    }
}

/// The full id of a model, or a glob with `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Takes over a pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can match more than one name.
    pub fn is_glob(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Whether it matches the whole of a name; `*` stands for any characters, `/` among them.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // Where to go on when the text after the last `*` does not match: one character later.
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

/// A model of the price list and where it stands.
pub(super) struct Listed<'n> {
    pub(super) field: Field<'n>,
    pub(super) pattern: Pattern,
}

/// Reads `prices`, and gives the models it names, to be checked when all models are known.
pub(super) fn prices<'n>(root: &mut Mapping<'_, '_, 'n>) -> (Prices, Vec<Listed<'n>>) {
    let (mut prices, mut listed) = (Prices::default(), Vec::new());
    let Some(field) = root.take("prices") else { return (prices, listed) };
    let Some(mut map) = Mapping::open(root.reader, "prices", &field) else {
        return (prices, listed);
    };
    if let Some(field) = map.take("default_micros") {
        defaults(map.reader, &field, &mut prices);
    }
    if let Some(field) = map.take("models") {
        let entries = map.reader.named_values(&field, MAX_PRICES, "prices").unwrap_or_default();
        for (key, node) in entries {
            let (entry, price) = of_model(map.reader, &field, key, node);
            prices.models.push((entry.pattern.clone(), price));
            listed.push(entry);
        }
    }
    map.close();
    prices
        .models
        .sort_by_key(|(pattern, _)| (pattern.is_glob(), std::cmp::Reverse(pattern.as_str().len())));
    (prices, listed)
}

fn defaults(reader: &mut Reader<'_>, field: &Field<'_>, prices: &mut Prices) {
    let Some(mut map) = Mapping::open(reader, "prices.default_micros", field) else { return };
    for (operation, price) in &mut prices.defaults {
        *price = map.price(operation.word()).unwrap_or(*price);
    }
    map.close();
}

fn of_model<'n>(
    reader: &mut Reader<'_>,
    field: &Field<'_>,
    key: &'n Key,
    node: &'n Node,
) -> (Listed<'n>, i64) {
    let field = Field::within(&field.key, key, node);
    let price = price(reader, &field);
    (Listed { pattern: Pattern::new(&key.text), field }, price)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_whole_names() {
        for (pattern, name, expected) in [
            ("openai/gpt-5", "openai/gpt-5", true),
            ("openai/gpt-5", "openai/gpt-5-mini", false),
            ("openai/*", "openai/org/x", true),
            ("openai/*", "openai/", true),
            ("openai/*", "openai", false),
            ("*", "", true),
            ("*-mini", "openai/gpt-5-mini", true),
            ("*mini*", "a/mini-mini-x", true),
            ("*a*b", "xxaxxb", true),
            ("*a*b", "xxaxxbc", false),
            ("gpt-?", "gpt-5", true),
            ("gpt-?", "gpt-", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_glob_of_many_stars_is_matched_without_delay() {
        let pattern = Pattern::new("*a".repeat(60) + "b");
        assert!(!pattern.matches(&"a".repeat(4000)));
    }

    #[test]
    fn every_operation_has_a_word_of_its_own() {
        for (operation, word, _) in OPERATIONS {
            assert_eq!(operation.word(), *word);
            assert_eq!(OPERATIONS.iter().filter(|(_, other, _)| other == word).count(), 1);
        }
    }
}
