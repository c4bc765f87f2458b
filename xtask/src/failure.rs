//! What a task reports when it could not be done: one sentence, and what to do next.

use std::fmt;

/// Why a task stopped, as the person at the terminal reads it.
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
    /// The command line was not understood.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let hint = Some("run `cargo xtask --help` for the commands".to_owned());
        Self { kind: Kind::Usage, message: message.into(), hint }
    }

    /// The work itself failed.
    pub(crate) fn work(message: impl Into<String>) -> Self {
        Self { kind: Kind::Work, message: message.into(), hint: None }
    }

    /// The same failure with advice on what to do next.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The exit code of the process that ends with this failure.
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
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_as_error_and_hint() {
        let failure = Failure::work("the disk is full").with_hint("make room");
        assert_eq!(failure.to_string(), "error: the disk is full\nhint: make room");
        assert_eq!(failure.exit_code(), 1);
    }
}
