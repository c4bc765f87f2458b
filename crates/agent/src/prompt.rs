//! Questions to a person at a terminal. Without one, nobody is asked.

pub(crate) mod line;

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::line::LineInput;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::output::Output;
use crate::runtime::block_on;

const MAX_ANSWER_BYTES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Prompt(());

impl Prompt {
    /// The person at the terminal, unless a program reads the output.
    pub(crate) fn find(output: &Output) -> Option<Self> {
        (line::is_possible() && !output.is_json()).then_some(Prompt(()))
    }

    /// Asks for confirmation; anything but yes is a no.
    pub(crate) fn confirm(&self, question: &str) -> Result<bool> {
        let answer = self.ask(&format!("{question} [y/N]"))?.unwrap_or_default();
        Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for confirmation; without a terminal, fails with the action and `--yes`.
    pub(crate) fn confirmed(output: &Output, question: &str, action: &str) -> Result<bool> {
        match Prompt::find(output) {
            Some(prompt) => prompt.confirm(question),
            None => Err(Diagnostic::failed(format!(
                "{action} needs confirmation, but no terminal is attached"
            ))
            .hint("confirm with `--yes`")),
        }
    }

    /// Asks for a line; `None` at the end of the input.
    #[expect(clippy::unused_self, reason = "only who has found a person may ask")]
    pub(crate) fn ask(&self, question: &str) -> Result<Option<String>> {
        block_on(async { Ok(ask_meanwhile(question.to_owned()).await) })
    }

    /// Asks for a line of which only the length is shown; `None` at the end of the input.
    #[expect(clippy::unused_self, reason = "only who has found a person may ask")]
    pub(crate) fn ask_secret(&self, question: &str) -> Result<Option<String>> {
        block_on(async {
            match line::read(format!("{question} "), &[]).await {
                Ok(LineInput::Line(line)) => Ok(Some(line.trim().to_owned())),
                Ok(LineInput::Ended) => Ok(None),
                Err(error) => Err(Diagnostic::failed("cannot read the answer").because(&error)),
            }
        })
    }
}

/// Reads standard input as text, up to this number of bytes.
pub(crate) fn standard_input(most: u64) -> Result<String> {
    let mut text = String::new();
    let read = io::stdin().lock().take(most + 1).read_to_string(&mut text);
    read.or_failed("cannot read standard input")?;
    if text.len() as u64 > most {
        return Err(Diagnostic::usage(format!("standard input is larger than {most} bytes")));
    }
    Ok(text)
}

/// Asks for a line without blocking; `None` at the end of the input. Dropping this leaves
/// later input to others.
pub(crate) async fn ask_meanwhile(question: String) -> Option<String> {
    let answer = line_meanwhile(question, TypedAhead::Forgotten, MAX_ANSWER_BYTES).await;
    answer.map(|answer| answer.trim().to_owned())
}

/// Handling of input typed before a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypedAhead {
    /// It is discarded: it is no answer.
    Forgotten,
    Taken,
}

/// Reads a terminal line of up to this number of bytes without blocking.
pub(crate) async fn line_meanwhile(
    question: String,
    before: TypedAhead,
    most: u64,
) -> Option<String> {
    let mut given_up = AbandonGuard::default();
    let is_given_up = Arc::clone(&given_up.flag);
    let reading = tokio::task::spawn_blocking(move || {
        if before == TypedAhead::Forgotten {
            // Without a terminal there is nothing to discard.
            let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
        }
        // If the terminal is gone, the read fails as well.
        let mut err = anstream::stderr().lock();
        let _ = write!(err, "{question} ").and_then(|()| err.flush());
        drop(err);
        if !wait_for_line(&is_given_up) {
            return None;
        }
        let mut answer = String::new();
        let read = io::stdin().lock().take(most).read_line(&mut answer);
        matches!(read, Ok(1..)).then_some(answer)
    });
    let answer = reading.await.ok().flatten();
    given_up.is_answered = true;
    answer
}

#[derive(Debug, Default)]
struct AbandonGuard {
    flag: Arc<AtomicBool>,
    is_answered: bool,
}

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        self.flag.store(true, Ordering::Release);
        if !self.is_answered {
            // The question stays unanswered; the next output starts on a new line.
            crate::output::aside("");
        }
    }
}

fn wait_for_line(is_given_up: &AtomicBool) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let tick = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    loop {
        if is_given_up.load(Ordering::Acquire) {
            return false;
        }
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut watched, Some(&tick)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // Input after the reader has gone is for others.
            _ => return !is_given_up.load(Ordering::Acquire),
        }
    }
}
