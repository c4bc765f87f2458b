//! The error of a task: one sentence and a hint.

use std::fmt::{self, Display};

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// Says what failed, in front of the error of a library.
pub(crate) trait OrFail<T> {
    fn or_fail(self, what: impl Display) -> Result<T>;
}

impl<T, E: Display> OrFail<T> for Result<T, E> {
    fn or_fail(self, what: impl Display) -> Result<T> {
        self.map_err(|error| Failure::work(format!("{what}: {error}")))
    }
}

#[derive(Debug)]
pub(crate) struct Failure {
    exit_code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// An invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let hint = Some("run `cargo xtask --help` for the commands".to_owned());
        Self { exit_code: 2, message: message.into(), hint }
    }

    pub(crate) fn work(message: impl Into<String>) -> Self {
        Self { exit_code: 1, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.message)?;
        if let Some(hint) = &self.hint { write!(formatter, "\nhint: {hint}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
