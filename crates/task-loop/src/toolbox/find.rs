//! Search of tools by words, if there are too many to list all.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use mcp_client::registry::{RegisteredTool, Registry};
use serde_json::json;

use super::Definition;

pub const NAME: &str = "find_tools";
const MAX_FOUND: usize = 8;
const MAX_DESCRIPTION_CHARS: usize = 300;
/// Weight of a word in a tool's name, relative to one in its description.
const NAME_WEIGHT: f64 = 3.0;
const TOKENS: u32 = 120;

pub(super) fn definition(registry: &Registry) -> Definition {
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in registry.entries() {
        *servers.entry(&entry.server).or_default() += 1;
    }
    let servers: Vec<String> =
        servers.iter().map(|(server, count)| format!("{server} ({count})")).collect();
    let description = format!(
        "Finds tools by keywords and makes them available. There are {} tools from these servers: \
         {}. Search before you conclude that a task is impossible.",
        registry.len(),
        servers.join(", ")
    );
    Definition {
        name: Arc::from(NAME),
        description: description.into(),
        parameters: Arc::new(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the tool should do, in a few words"}
            },
            "required": ["query"],
            "additionalProperties": false,
        })),
        tokens: TOKENS,
    }
}

pub fn search<'r>(registry: &'r Registry, query: &str) -> Vec<&'r RegisteredTool> {
    let wanted = words(query);
    let documents: Vec<(&RegisteredTool, Vec<String>, Vec<String>)> = registry
        .entries()
        .map(|entry| (entry, words(&entry.name), words(&entry.description)))
        .collect();
    let rarity = |word: &str| {
        let has = |words: &[String]| words.iter().any(|other| other == word);
        let with = documents.iter().filter(|(_, name, about)| has(name) || has(about)).count();
        (1.0 + count(documents.len()) / (1.0 + count(with))).ln()
    };
    let rarities: Vec<(&String, f64)> = wanted.iter().map(|word| (word, rarity(word))).collect();
    let mut scored: Vec<(f64, &RegisteredTool)> = documents
        .iter()
        .map(|(entry, name, about)| {
            let score = rarities.iter().map(|(word, rarity)| {
                let in_name = if name.contains(word) { NAME_WEIGHT } else { 0.0 };
                let in_description = if about.contains(word) { 1.0 } else { 0.0 };
                rarity * (in_name + in_description)
            });
            (score.sum(), *entry)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.into_iter().take(MAX_FOUND).map(|(_, entry)| entry).collect()
}

pub(super) fn told(found: &[&RegisteredTool], query: &str) -> String {
    if found.is_empty() {
        let query: String = query.chars().take(100).collect();
        return format!("no tool matches `{query}`; try other words");
    }
    let mut text = String::from("You can call these tools now:\n");
    for entry in found {
        let about: String = entry.description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        let _ = writeln!(text, "- {}: {}", entry.name, about.replace('\n', " "));
    }
    text
}

/// The words of a text, in lower case and without their plural.
fn words(text: &str) -> Vec<String> {
    let split = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    let plain = |word: &str| {
        let word = word.to_lowercase();
        match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 => stem.to_owned(),
            _ => word,
        }
    };
    split.map(plain).collect()
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
