//! Questions to a person at a terminal. Where there is none, nobody is asked.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crate::diagnostic::Diagnostic;
use crate::output::Output;

/// The longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 4096;

/// A person who can be asked.
#[derive(Debug)]
pub(crate) struct Prompt {
    _private: (),
}

impl Prompt {
    /// The person at the terminal; nobody if there is no terminal or a program reads the output.
    pub(crate) fn find(output: &Output) -> Option<Self> {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        (is_there && !output.is_json()).then_some(Prompt { _private: () })
    }

    /// Asks for a yes; anything else is a no.
    pub(crate) fn confirm(&self, question: &str) -> Result<bool, Diagnostic> {
        let answer = self.ask(&format!("{question} [y/N]"))?.unwrap_or_default();
        Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for a line; nothing if the input has ended.
    #[expect(clippy::unused_self, reason = "only who has found a person may ask")]
    pub(crate) fn ask(&self, question: &str) -> Result<Option<String>, Diagnostic> {
        forget_typed();
        anstream::eprint!("{question} ");
        io::stderr().flush()?;
        let mut answer = String::new();
        let read = io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut answer);
        let read =
            read.map_err(|error| Diagnostic::failed("cannot read the answer").because(&error))?;
        Ok((read > 0).then(|| answer.trim().to_owned()))
    }
}

/// Throws away what was typed before the question: it cannot be an answer to it.
pub(crate) fn forget_typed() {
    #[cfg(unix)]
    {
        // Where there is no terminal there is nothing to throw away.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}
