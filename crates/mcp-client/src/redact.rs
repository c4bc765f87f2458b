//! Redaction of secrets in text: by known values, then by patterns.
//!
//! Known values are also found in the encodings they travel in: base64, percent-encoding, JSON
//! escapes. `Debug` shows only their number.

mod encodings;
mod patterns;

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use arc_swap::ArcSwap;

/// Shorter values are not searched: they would match inside ordinary words.
pub const MIN_SECRET_BYTES: usize = 4;

/// Longer values are searched in pieces: matching a self-repeating value takes quadratic time, and
/// peers choose the tokens.
const MAX_PIECE_BYTES: usize = 1024;

/// Maximum number of rotated values kept per label.
pub const MAX_ROTATED: usize = 8;

/// Redacts secrets. Known secrets are only added, and all holders see them at once: after a
/// configuration change the old ones may still be in use.
#[derive(Default)]
pub struct Redactor {
    known: ArcSwap<KnownSecrets>,
}

#[derive(Default)]
struct KnownSecrets {
    secrets: Vec<Secret>,
    /// All encodings of all values; `None` if nothing is known.
    finder: Option<SecretMatcher>,
}

#[derive(Clone)]
struct Secret {
    label: String,
    value: String,
}

struct SecretMatcher {
    forms: AhoCorasick,
    /// The index of the secret that each encoding belongs to.
    owners: Vec<usize>,
}

impl Redactor {
    /// A redactor for these labels and values. Labels appear in the output.
    pub fn new(known: impl IntoIterator<Item = (String, String)>) -> Self {
        let redactor = Self::default();
        redactor.add_secrets(known);
        redactor
    }

    pub fn add_secrets(&self, more: impl IntoIterator<Item = (String, String)>) {
        let more: Vec<(String, String)> = more.into_iter().collect();
        self.add(&more, usize::MAX);
    }

    /// Adds the newest of successive values, such as renewed tokens. Only the last few are
    /// remembered, since older ones are invalid.
    pub fn add_rotating_secret(&self, label: &str, value: &str) {
        self.add(&[(label.to_owned(), value.to_owned())], MAX_ROTATED);
    }

    /// Keeps at most the `most` last values of a label.
    fn add(&self, more: &[(String, String)], most: usize) {
        self.known.rcu(|before| {
            let mut secrets = before.secrets.clone();
            for (label, value) in more {
                if secrets.iter().any(|secret| secret.value == *value) {
                    continue;
                }
                secrets.push(Secret { label: label.clone(), value: value.clone() });
                let mut of_label = (0..).zip(&secrets).filter(|(_, known)| known.label == *label);
                if let Some((oldest, _)) = of_label.next()
                    && of_label.count() >= most
                {
                    secrets.remove(oldest);
                }
            }
            KnownSecrets::of(secrets)
        });
    }

    /// Replaces known values by `[redacted:LABEL]` and text that matches a pattern by `[redacted]`.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text_of(text, self.known.load().redacted(text.as_bytes(), Patterns::Included))
    }

    /// Replaces known values only.
    pub fn redact_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text_of(text, self.known.load().redacted(text.as_bytes(), Patterns::Excluded))
    }
}

fn text_of(text: &str, redacted: Option<Vec<u8>>) -> Cow<'_, str> {
    match redacted {
        // Every cut is a character boundary.
        Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        None => Cow::Borrowed(text),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patterns {
    Included,
    Excluded,
}

impl KnownSecrets {
    fn of(secrets: Vec<Secret>) -> Self {
        let mut forms = Vec::new();
        let mut owners = Vec::new();
        for (owner, secret) in secrets.iter().enumerate() {
            if secret.value.len() >= MIN_SECRET_BYTES {
                for form in encodings::of(&secret.value) {
                    let pieces = form.len().div_ceil(MAX_PIECE_BYTES).max(1);
                    for piece in form.as_bytes().chunks(form.len().div_ceil(pieces)) {
                        forms.push(piece.to_vec());
                        owners.push(owner);
                    }
                }
            }
        }
        // The longest of several matches wins. Building fails only for gigabytes of secrets.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms)
            .ok()
            .filter(|_| !forms.is_empty())
            .map(|forms| SecretMatcher { forms, owners });
        Self { secrets, finder }
    }

    /// `None` if there is nothing to redact.
    fn redacted(&self, bytes: &[u8], by_shape: Patterns) -> Option<Vec<u8>> {
        let by_value = self.without_known(bytes);
        let by_shape = match by_shape {
            Patterns::Included => patterns::redact_patterns(by_value.as_deref().unwrap_or(bytes)),
            Patterns::Excluded => None,
        };
        let mut redacted = by_shape.or(by_value)?;
        // A mark and its context may form a known value again, which is removed without a mark.
        // The text shrinks, so the loop ends.
        if let Some(finder) = &self.finder {
            while finder.forms.is_match(&redacted) {
                redacted = finder.replaced(&redacted, |_| Cow::Borrowed(""));
            }
        }
        Some(redacted)
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

impl SecretMatcher {
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
