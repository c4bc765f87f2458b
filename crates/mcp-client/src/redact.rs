//! Secrets taken out of text: first by their known values, then by the shapes secrets have.
//!
//! Known values are found as they are and in the forms they travel in: base64, percent-encoded,
//! escaped in JSON. Nothing here is ever shown; a [`Redactor`] prints how many values it knows.

mod forms;
mod shapes;

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};

/// Values with fewer bytes are not looked for: they would tear ordinary words apart.
pub const MIN_SECRET_BYTES: usize = 4;

/// Takes secrets out of text.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Vec<Known>,
    /// Every form of every value; none while nothing is known.
    finder: Option<Finder>,
}

#[derive(Clone)]
struct Known {
    label: String,
    value: String,
}

#[derive(Clone)]
struct Finder {
    forms: AhoCorasick,
    /// Which value each form belongs to.
    owners: Vec<usize>,
}

impl Redactor {
    /// Knows the given values, each by a label that may be shown.
    pub fn new(known: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut redactor = Self {
            known: known.into_iter().map(|(label, value)| Known { label, value }).collect(),
            finder: None,
        };
        redactor.prepare();
        redactor
    }

    /// Learns one more value.
    pub fn add(&mut self, label: impl Into<String>, value: impl Into<String>) {
        let (label, value) = (label.into(), value.into());
        if self.known.iter().any(|known| known.value == value) {
            return;
        }
        self.known.push(Known { label, value });
        self.prepare();
    }

    /// The text with `[redacted:LABEL]` for known values and `[redacted]` for what looks like a
    /// secret.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.cleaned(text.as_bytes()) {
            // Every cut lies between characters.
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// As [`Redactor::clean`], for bytes that may be no text.
    pub fn clean_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.cleaned(bytes).unwrap_or_else(|| bytes.to_vec())
    }

    /// What is left of the bytes; none if they hold no secret.
    fn cleaned(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let by_value = self.without_known(bytes);
        let by_shape = shapes::without(by_value.as_deref().unwrap_or(bytes));
        let mut cleaned = by_shape.or(by_value)?;
        // A mark and what stands beside it may spell a value again. Then it goes without a mark;
        // the text only shrinks, so this ends.
        if let Some(finder) = &self.finder {
            while finder.forms.is_match(&cleaned) {
                cleaned = finder.replaced(&cleaned, |_| Cow::Borrowed(""));
            }
        }
        Some(cleaned)
    }

    fn without_known(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let finder = self.finder.as_ref()?;
        finder.forms.is_match(bytes).then(|| {
            finder.replaced(bytes, |owner| {
                Cow::Owned(format!("[redacted:{}]", self.known[owner].label))
            })
        })
    }

    fn prepare(&mut self) {
        let mut forms = Vec::new();
        let mut owners = Vec::new();
        for (owner, known) in self.known.iter().enumerate() {
            if known.value.len() >= MIN_SECRET_BYTES {
                for form in forms::of(&known.value) {
                    forms.push(form);
                    owners.push(owner);
                }
            }
        }
        // Of several matches at one place the longest counts. Building fails only beyond the
        // limits of its state numbers, at gigabytes of secrets.
        self.finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms)
            .ok()
            .filter(|_| !forms.is_empty())
            .map(|forms| Finder { forms, owners });
    }
}

impl Finder {
    fn replaced(&self, bytes: &[u8], mark: impl Fn(usize) -> Cow<'static, str>) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        let mut copied = 0;
        for found in self.forms.find_iter(bytes) {
            kept.extend_from_slice(&bytes[copied..found.start()]);
            kept.extend_from_slice(mark(self.owners[found.pattern().as_usize()]).as_bytes());
            copied = found.end();
        }
        kept.extend_from_slice(&bytes[copied..]);
        kept
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
