//! Secrets taken out of text: first by their known values, then by the shapes secrets have.
//!
//! Known values are found as they are and in the forms they travel in: base64, percent-encoded,
//! escaped in JSON. Nothing here is ever shown; a [`Redactor`] prints how many values it knows.

mod forms;
mod shapes;

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use arc_swap::ArcSwap;

/// Values with fewer bytes are not looked for: they would tear ordinary words apart.
pub const MIN_SECRET_BYTES: usize = 4;

/// Longer values are looked for piece by piece: to find one that repeats itself takes time that grows
/// with the square of its length, and tokens are what peers make them.
const MAX_PIECE_BYTES: usize = 1024;

/// How many values of one label that follow each other are remembered.
pub const MAX_ROTATED: usize = 8;

/// Takes secrets out of text. What it knows only grows, and whoever shares it sees that at once: a
/// changed configuration brings new secrets while the old ones may still be on their way.
#[derive(Default)]
pub struct Redactor {
    known: ArcSwap<Known>,
}

#[derive(Default)]
struct Known {
    secrets: Vec<Secret>,
    /// Every form of every value; none while nothing is known.
    finder: Option<Finder>,
}

#[derive(Clone)]
struct Secret {
    label: String,
    value: String,
}

struct Finder {
    forms: AhoCorasick,
    /// Which value each form belongs to.
    owners: Vec<usize>,
}

impl Redactor {
    /// Knows the given values, each by a label that may be shown.
    pub fn new(known: impl IntoIterator<Item = (String, String)>) -> Self {
        let redactor = Self::default();
        redactor.learn(known);
        redactor
    }

    /// Learns more values.
    pub fn learn(&self, more: impl IntoIterator<Item = (String, String)>) {
        let more: Vec<(String, String)> = more.into_iter().collect();
        self.known.rcu(|before| {
            let mut secrets = before.secrets.clone();
            for (label, value) in &more {
                if !secrets.iter().any(|secret| secret.value == *value) {
                    secrets.push(Secret { label: label.clone(), value: value.clone() });
                }
            }
            Known::of(secrets)
        });
    }

    /// Learns the newest of values that follow each other, such as tokens that are renewed. Only the
    /// last few are remembered: older ones are worth nothing.
    pub fn learn_rotating(&self, label: &str, value: &str) {
        self.known.rcu(|before| {
            let mut secrets = before.secrets.clone();
            if !secrets.iter().any(|secret| secret.value == value) {
                secrets.push(Secret { label: label.to_owned(), value: value.to_owned() });
                let of_label = |secret: &&Secret| secret.label == label;
                if secrets.iter().filter(of_label).count() > MAX_ROTATED
                    && let Some(oldest) = secrets.iter().position(|secret| secret.label == label)
                {
                    secrets.remove(oldest);
                }
            }
            Known::of(secrets)
        });
    }

    /// The text with `[redacted:LABEL]` for known values and `[redacted]` for what looks like a
    /// secret.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text_of(text, self.known.load().cleaned(text.as_bytes(), Shapes::Too))
    }

    /// The text without known values; what merely looks like a secret stays.
    pub fn clean_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text_of(text, self.known.load().cleaned(text.as_bytes(), Shapes::Not))
    }

    /// As [`Redactor::clean`], for bytes that may be no text.
    pub fn clean_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.known.load().cleaned(bytes, Shapes::Too).unwrap_or_else(|| bytes.to_vec())
    }
}

fn text_of(text: &str, cleaned: Option<Vec<u8>>) -> Cow<'_, str> {
    match cleaned {
        // Every cut lies between characters.
        Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        None => Cow::Borrowed(text),
    }
}

/// Whether what looks like a secret goes as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shapes {
    Too,
    Not,
}

impl Known {
    fn of(secrets: Vec<Secret>) -> Self {
        let mut forms = Vec::new();
        let mut owners = Vec::new();
        for (owner, secret) in secrets.iter().enumerate() {
            if secret.value.len() >= MIN_SECRET_BYTES {
                for form in forms::of(&secret.value) {
                    let pieces = form.len().div_ceil(MAX_PIECE_BYTES).max(1);
                    for piece in form.as_bytes().chunks(form.len().div_ceil(pieces)) {
                        forms.push(piece.to_vec());
                        owners.push(owner);
                    }
                }
            }
        }
        // Of several matches at one place the longest counts. Building fails only beyond the
        // limits of its state numbers, at gigabytes of secrets.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms)
            .ok()
            .filter(|_| !forms.is_empty())
            .map(|forms| Finder { forms, owners });
        Self { secrets, finder }
    }

    /// What is left of the bytes; none if they hold no secret.
    fn cleaned(&self, bytes: &[u8], by_shape: Shapes) -> Option<Vec<u8>> {
        let by_value = self.without_known(bytes);
        let by_shape = match by_shape {
            Shapes::Too => shapes::without(by_value.as_deref().unwrap_or(bytes)),
            Shapes::Not => None,
        };
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
                Cow::Owned(format!("[redacted:{}]", self.secrets[owner].label))
            })
        })
    }
}

impl Finder {
    fn replaced(&self, bytes: &[u8], mark: impl Fn(usize) -> Cow<'static, str>) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        let (mut copied, mut last) = (0, None);
        for found in self.forms.find_iter(bytes) {
            let owner = self.owners[found.pattern().as_usize()];
            kept.extend_from_slice(&bytes[copied..found.start()]);
            // The pieces of one value get one mark.
            if last != Some(owner) || found.start() > copied {
                kept.extend_from_slice(mark(owner).as_bytes());
            }
            (copied, last) = (found.end(), Some(owner));
        }
        kept.extend_from_slice(&bytes[copied..]);
        kept
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("known", &self.known.load().secrets.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
