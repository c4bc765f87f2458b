//! Names of skills and models, which are also names of files and folders.

use std::fmt;
use std::marker::PhantomData;

use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;

pub(crate) const MAX_NAME_BYTES: usize = 64;

pub(crate) trait NameKind {
    const NOUN: &str;
    /// The rule, for a person.
    const RULE: &str;

    fn is_first(byte: u8) -> bool;

    fn is_further(byte: u8) -> bool;
}

/// A name that stays in its folder on every system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileName<K>(String, PhantomData<K>);

impl<K: NameKind> FileName<K> {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_valid = text.len() <= MAX_NAME_BYTES
            && text.bytes().next().is_some_and(K::is_first)
            && text.bytes().all(K::is_further)
            && !text.to_ascii_lowercase().ends_with(".gguf");
        is_valid.then(|| Self(text.to_owned(), PhantomData))
    }

    pub(crate) fn typed(text: &str) -> Result<Self, Diagnostic> {
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
