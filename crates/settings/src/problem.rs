//! Problems of a configuration: position, message and hint.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Maximum number of stored problems per file; the rest are only counted.
pub const MAX_PROBLEMS: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The entry, or the whole file, cannot be used.
    Error,
    /// The value is ignored, replaced by the default, or probably a mistake.
    Warning,
}

/// A problem of a configuration. It never contains a secret value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    /// Line, from 1; 0 if the entry is not from a file.
    pub line: usize,
    /// Column, from 1; 0 if the entry is not from a file.
    pub column: usize,
    /// The affected entry, such as the name of a server, if the file has entries.
    pub section: Option<String>,
    /// The affected key, dotted, such as `tools.include[2]`.
    pub key: Option<String>,
    /// The invalid value, and what is allowed.
    pub message: String,
    pub hint: Option<String>,
}

/// A position in a file; 0:0 for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Problem {
    pub fn error(position: Position, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            line: position.line,
            column: position.column,
            section: None,
            key: None,
            message: message.into(),
            hint: None,
        }
    }

    pub fn warning(position: Position, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(position, message) }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets the key; an empty one means none.
    #[must_use]
    pub fn at(self, key: &str) -> Self {
        let key = (!key.is_empty()).then(|| key.to_owned());
        Self { key, ..self }
    }

    /// Sets the entry and its key.
    #[must_use]
    pub fn of(self, section: &str, key: &str) -> Self {
        Self { section: Some(section.to_owned()), ..self.at(key) }
    }

    /// The problem on one line that editors can jump to.
    pub fn in_file(&self, path: &Path) -> String {
        let gap = if self.line > 0 { ":" } else { ": " };
        format!("{}{gap}{self}", path.display())
    }

    pub(crate) fn position(&self) -> Position {
        Position { line: self.line, column: self.column }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        for part in [&self.section, &self.key].into_iter().flatten() {
            write!(f, "{part}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Sorts problems by position and keeps at most [`MAX_PROBLEMS`]; errors take precedence.
pub fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    if problems.len() > MAX_PROBLEMS {
        let left_out = problems.len() - MAX_PROBLEMS + 1;
        problems.sort_by_key(|problem| (problem.severity, problem.position()));
        problems.truncate(MAX_PROBLEMS - 1);
        let last = problems.iter().map(Problem::position).max().unwrap_or_default();
        problems.push(Problem::warning(last, format!("{left_out} more problems not shown")));
    }
    problems.sort_by_key(Problem::position);
    problems
}

#[cfg(test)]
mod tests;
