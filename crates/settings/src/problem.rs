//! What is wrong with a configuration: where, what was found, what is allowed.

use std::fmt;
use std::path::Path;

/// The most problems of one file that are kept; the rest is only counted.
pub const MAX_PROBLEMS: usize = 500;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// What it is about, or the whole file, cannot be used.
    Error,
    /// The value is ignored, replaced by the default, or probably not what was meant.
    Warning,
}

/// One thing that is wrong with a configuration. It never holds a secret value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The line, from 1; 0 if the entry did not come from a file.
    pub line: usize,
    /// The column, from 1; 0 if the entry did not come from a file.
    pub column: usize,
    /// The entry it is about, such as the name of a server, where a file has such.
    pub section: Option<String>,
    /// The key it is about, dotted, such as `tools.include[2]`.
    pub key: Option<String>,
    /// What was found and what is allowed.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A place in a file; 0:0 where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl Problem {
    /// A problem that prevents the start.
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

    /// A problem that is passed over.
    pub fn warning(position: Position, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(position, message) }
    }

    /// The same problem, with what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same problem of this key; an empty one is none.
    #[must_use]
    pub fn at(self, key: &str) -> Self {
        let key = (!key.is_empty()).then(|| key.to_owned());
        Self { key, ..self }
    }

    /// The same problem of a key of this entry.
    #[must_use]
    pub fn of(self, section: &str, key: &str) -> Self {
        Self { section: Some(section.to_owned()), ..self.at(key) }
    }

    /// The problem on a line that editors can jump to.
    pub fn in_file(&self, path: &Path) -> String {
        let gap = if self.line > 0 { ":" } else { ": " };
        format!("{}{gap}{self}", path.display())
    }

    /// Whether what it is about, or the file, cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        match (&self.section, &self.key) {
            (Some(section), Some(key)) => write!(f, "{section}: {key}: ")?,
            (Some(section), None) => write!(f, "{section}: ")?,
            (None, Some(key)) => write!(f, "{key}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Puts problems in the order of the file and keeps at most [`MAX_PROBLEMS`], errors first when
/// some must go.
pub fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    if problems.len() > MAX_PROBLEMS {
        let left_out = problems.len() - MAX_PROBLEMS + 1;
        problems.sort_by_key(|problem| (problem.severity, problem.line, problem.column));
        problems.truncate(MAX_PROBLEMS - 1);
        problems.sort_by_key(|problem| (problem.line, problem.column));
        let last = problems.last().map_or_else(Position::default, |last| Position {
            line: last.line,
            column: last.column,
        });
        problems.push(Problem::warning(last, format!("{left_out} more problems not shown")));
        return problems;
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

#[cfg(test)]
mod tests;
