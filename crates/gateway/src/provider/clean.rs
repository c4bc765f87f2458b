//! Sanitizes the error messages of upstreams: bounded, one line, without secrets or addresses.

use aho_corasick::AhoCorasick;
use serde_json::Value;

const MAX_MESSAGE: usize = 300;

/// Removes the secrets and addresses of one upstream from texts.
pub(crate) struct Cleaner {
    /// The key and the URL.
    forbidden: Option<AhoCorasick>,
}

impl Cleaner {
    pub(crate) fn new(forbidden: impl IntoIterator<Item = String>) -> Self {
        let words: Vec<String> =
            forbidden.into_iter().filter(|word| word.chars().count() >= 4).collect();
        let forbidden = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok();
        Self { forbidden }
    }

    pub(crate) fn message(&self, body: &[u8]) -> Option<String> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let error = body.get("error").unwrap_or(&body);
        let message = error.get("message").or_else(|| body.get("detail")).unwrap_or(error);
        let message = self.clean(message.as_str()?);
        (!message.is_empty()).then_some(message)
    }

    pub(crate) fn clean(&self, text: &str) -> String {
        // Cut first to bound the work, well beyond the final length.
        let text: String = text.chars().take(MAX_MESSAGE * 4).collect();
        let text = match &self.forbidden {
            Some(forbidden) => {
                let stars = vec!["***"; forbidden.patterns_len()];
                forbidden.replace_all(&text, &stars)
            }
            None => text,
        };
        let words: Vec<&str> = text
            .split(|letter: char| letter.is_whitespace() || letter.is_control())
            .filter(|word| !word.is_empty())
            .map(|word| if is_harmless(word) { word } else { "***" })
            .collect();
        let line = words.join(" ");
        match line.char_indices().nth(MAX_MESSAGE) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}

/// Whether a word looks like neither a URL nor a secret.
fn is_harmless(word: &str) -> bool {
    let core = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    let is_address = word.contains("://") || host_part(core).parse::<std::net::Ipv4Addr>().is_ok();
    let is_secret = core.len() >= 16
        && ["sk-", "sk_", "key-", "Bearer", "agk_"].iter().any(|prefix| core.starts_with(prefix));
    let is_random = core.len() >= 32
        && core.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.+/=".contains(letter))
        && core.chars().any(|letter| letter.is_ascii_digit());
    !(is_address || is_secret || is_random)
}

fn host_part(word: &str) -> &str {
    word.split([':', '/']).next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
