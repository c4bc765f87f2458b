//! Lenient parsing of model answers: reasoning, fences, lists, JSON.

/// Maximum bytes of an answer that are parsed.
const MAX_SAID: usize = 256 * 1024;

pub(super) fn without_thoughts(said: &str) -> String {
    let said = head(said, MAX_SAID);
    let mut rest = said;
    let mut out = String::new();
    while let Some((before, inside)) = rest.split_once("<think>") {
        out.push_str(before);
        rest = inside.split_once("</think>").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    // Some models begin within their reasoning.
    let spoken = out.rsplit_once("</think>").map_or(out.as_str(), |(_, after)| after);
    spoken.trim().to_owned()
}

/// The beginning of a text, cut at a character boundary.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) is_item: bool,
}

/// The non-empty lines of an answer.
pub(super) fn lines(said: &str) -> impl Iterator<Item = Line<'_>> {
    said.lines().filter_map(|line| {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            return None;
        }
        let (text, is_item) = item(line);
        let text = unquoted(text);
        text.chars().any(char::is_alphanumeric).then_some(Line { text, is_item })
    })
}

fn item(line: &str) -> (&str, bool) {
    let bare = line.trim_start_matches(['-', '*', '•', '–', '+']);
    if bare.len() < line.len() && bare.starts_with(char::is_whitespace) {
        return (bare.trim(), true);
    }
    let digits =
        line.trim_start_matches('(').trim_start_matches(|letter: char| letter.is_ascii_digit());
    let has_digits = digits.len() < line.trim_start_matches('(').len();
    match digits.strip_prefix(['.', ')', ':']) {
        Some(rest) if has_digits => (rest.trim(), true),
        _ => (line, false),
    }
}

fn unquoted(text: &str) -> &str {
    const AROUND: &[char] = &['"', '\'', '`', '*', '“', '”', '„', '«', '»', ',', ';'];
    text.trim_matches(|letter: char| AROUND.contains(&letter) || letter.is_whitespace())
}

/// All strings of the JSON in an answer, in order.
pub(super) fn json_texts(said: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for (open, close) in [('[', ']'), ('{', '}')] {
        let (Some(from), Some(to)) = (said.find(open), said.rfind(close)) else { continue };
        let inside = said.get(from..=to).unwrap_or_default();
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(inside) {
            collect(&value, &mut texts);
            return texts;
        }
    }
    texts
}

fn collect(value: &serde_json::Value, texts: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => texts.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        serde_json::Value::Object(fields) => {
            fields.values().for_each(|value| collect(value, texts));
        }
        _ => {}
    }
}

/// English words unrelated to the subject of a question.
const STOP_WORDS: &[&str] = &[
    "a", "about", "an", "and", "are", "as", "at", "be", "by", "can", "compare", "did", "do",
    "does", "explain", "find", "for", "from", "give", "has", "have", "how", "i", "in", "is", "it",
    "its", "me", "of", "on", "or", "please", "report", "research", "should", "tell", "that", "the",
    "their", "there", "these", "this", "to", "was", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "write", "you",
];

pub(super) fn key_words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in words_of(query) {
        if !STOP_WORDS.contains(&word.as_str()) && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Whether a question has at least two English stop words.
pub(super) fn is_english(query: &str) -> bool {
    words_of(query).filter(|word| STOP_WORDS.contains(&word.as_str())).count() >= 2
}

fn words_of(query: &str) -> impl Iterator<Item = String> {
    let words = query.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    words.map(|word| word.trim_matches('-').to_lowercase()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
