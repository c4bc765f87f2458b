//! User-facing errors: the failure, its causes, and the next step.

use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use task_loop::untrusted::printable;

/// The result of anything that can fail with an error for the user.
pub(crate) type Result<T = (), E = Diagnostic> = std::result::Result<T, E>;

/// Exit codes. The numbers are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Configuration = 3,
    SignIn = 4,
    /// A peer failed: a server, a service.
    Peer = 5,
    Bug = 70,
    HungUp = 129,
    Interrupted = 130,
    Quit = 131,
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

impl Exit {
    pub(crate) fn is_of_signal(self) -> bool {
        matches!(self, Exit::Interrupted | Exit::HungUp | Exit::Quit | Exit::Terminated)
    }

    const fn kind(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::Configuration => "configuration",
            Exit::SignIn => "sign-in",
            Exit::Peer => "peer",
            Exit::Bug => "bug",
            Exit::HungUp | Exit::Interrupted | Exit::Quit | Exit::Terminated => "interrupted",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Diagnostic {
    pub(crate) exit: Exit,
    /// The error message; `None` if the output contains it already.
    pub(crate) message: Option<String>,
    /// The causes, outermost first.
    pub(crate) causes: Vec<String>,
    pub(crate) hints: Vec<String>,
}

impl Diagnostic {
    fn new(exit: Exit, message: impl Into<String>) -> Self {
        let message = Some(message.into());
        Diagnostic { exit, message, causes: Vec::new(), hints: Vec::new() }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Diagnostic::new(Exit::Failed, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Diagnostic::new(Exit::Usage, message)
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Diagnostic::new(Exit::Configuration, message)
    }

    pub(crate) fn peer(message: impl Into<String>) -> Self {
        Diagnostic::new(Exit::Peer, message)
    }

    pub(crate) fn sign_in(message: impl Into<String>) -> Self {
        Diagnostic::new(Exit::SignIn, message)
    }

    /// The error of a file or folder that a person named.
    pub(crate) fn cannot_read(exit: Exit, path: &Path, error: &io::Error) -> Self {
        let hint = (error.kind() == io::ErrorKind::NotFound).then(|| "check the path".to_owned());
        let shown = printable(&path.display().to_string());
        Diagnostic::new(exit, format!("cannot read {shown}")).because(error).hints(hint)
    }

    pub(crate) fn no_file(exit: Exit, path: &Path) -> Self {
        Diagnostic::cannot_read(exit, path, &rustix::io::Errno::NOENT.into())
    }

    pub(crate) fn interrupted(exit: Exit) -> Self {
        Diagnostic::new(exit, "interrupted")
    }

    /// A failure that the output has already reported.
    pub(crate) fn already_reported() -> Self {
        Diagnostic { exit: Exit::Failed, message: None, causes: Vec::new(), hints: Vec::new() }
    }

    /// Adds an error and its sources as causes.
    pub(crate) fn because(mut self, error: &dyn StdError) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            // A wrapper often repeats its source, or the other way round.
            let told = |cause: &String| cause.contains(&text) || text.contains(cause.as_str());
            if !self.causes.iter().any(told) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    pub(crate) fn cause(self, cause: impl Into<String>) -> Self {
        self.causes([cause.into()])
    }

    pub(crate) fn causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.hints([hint.into()])
    }

    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// Suggests a similar name, or else how to find one.
    pub(crate) fn did_you_mean(self, near: Option<&str>, otherwise: impl Into<String>) -> Self {
        match near {
            Some(near) => self.hint(format!("did you mean `{}`?", printable(near))),
            None => self.hint(otherwise),
        }
    }

    /// Message and causes on one line.
    pub(crate) fn line(&self) -> String {
        let message = self.message.iter().cloned();
        message.chain(self.causes.iter().cloned()).collect::<Vec<_>>().join(": ")
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "error": {
                "kind": self.exit.kind(),
                "message": self.message,
                "causes": self.causes,
                "hints": self.hints,
            }
        })
    }
}

/// Adds context to the error of a step.
pub(crate) trait ErrorContext<T>: Sized {
    fn or_diagnostic(self, diagnostic: Diagnostic) -> Result<T, Diagnostic>;

    fn or_failed(self, message: impl Into<String>) -> Result<T, Diagnostic> {
        self.or_diagnostic(Diagnostic::failed(message))
    }

    /// Fails with a message such as `cannot read config.yaml`.
    fn or_cannot(self, what: &str, path: &Path) -> Result<T, Diagnostic> {
        self.or_failed(format!("cannot {what} {}", path.display()))
    }
}

impl<T, E: StdError> ErrorContext<T> for Result<T, E> {
    fn or_diagnostic(self, diagnostic: Diagnostic) -> Result<T, Diagnostic> {
        self.map_err(|error| diagnostic.because(&error))
    }
}

impl From<io::Error> for Diagnostic {
    /// For errors of standard output only; errors of files should have their path.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // The reader closed standard output.
            return Diagnostic { exit: Exit::Done, ..Diagnostic::already_reported() };
        }
        Diagnostic::failed("cannot write the output").because(&error)
    }
}
