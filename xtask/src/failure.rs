//! The error of a task: one sentence and a hint.

use std::fmt;

#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Usage,
    Work,
}

impl Failure {
    /// An invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let hint = Some("run `cargo xtask --help` for the commands".to_owned());
        Self { kind: Kind::Usage, message: message.into(), hint }
    }

    pub(crate) fn work(message: impl Into<String>) -> Self {
        Self { kind: Kind::Work, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Work => 1,
            Kind::Usage => 2,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
