//! File names of skills and models, and extensions of media types.

use std::fmt;
use std::marker::PhantomData;

use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Result};

pub(crate) const MAX_NAME_BYTES: usize = 64;

pub(crate) trait NameKind {
    const NOUN: &str;
    /// The rule, for a person.
    const RULE: &str;
    const HAS_CAPITALS: bool;
    /// Characters allowed after the first letter or digit.
    const MARKS: &[u8];
}

/// A name that cannot leave its folder on any system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileName<K>(String, PhantomData<K>);

impl<K: NameKind> FileName<K> {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_first = |byte: u8| {
            byte.is_ascii_digit()
                || byte.is_ascii_lowercase()
                || (K::HAS_CAPITALS && byte.is_ascii_uppercase())
        };
        let is_valid = text.len() <= MAX_NAME_BYTES
            && text.bytes().next().is_some_and(is_first)
            && text.bytes().all(|byte| is_first(byte) || K::MARKS.contains(&byte))
            && !text.to_ascii_lowercase().ends_with(".gguf");
        is_valid.then(|| Self(text.to_owned(), PhantomData))
    }

    pub(crate) fn typed(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| {
            let shown = printable(text);
            Diagnostic::usage(format!("`{shown}` is not a valid {} name", K::NOUN)).hint(K::RULE)
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<K> fmt::Display for FileName<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

const ENDINGS: &[(&str, &str)] = &[
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("audio/aac", "aac"),
    ("audio/flac", "flac"),
    ("audio/mp3", "mp3"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/pcm", "pcm"),
    ("audio/wav", "wav"),
    ("audio/webm", "weba"),
    ("audio/x-wav", "wav"),
    ("image/avif", "avif"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// The extension for this media type; unknown types are plain bytes.
pub(crate) fn extension(media_type: &str) -> &'static str {
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = ENDINGS.iter().find(|(name, _)| *name == kind);
    known.map_or("bin", |(_, ending)| ending)
}
