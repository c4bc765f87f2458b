//! Chat input, message by message: with an editor at a terminal, line by line elsewhere.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::Arc;

use reedline::Signal;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::editor::{CONTINUATION_PROMPT, Editor, PROMPT, is_continued};
use super::library::Library;
use crate::attended_person::OpenQuestions;
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::output::Output;
use crate::prompt::{Prompt, TypedAhead, line_meanwhile};
use crate::runtime::Signals;
use crate::session::Session;

const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Maximum queued lines of an attended conversation. Answers are never queued.
const MAX_WAITING: usize = 64;

pub(super) struct Input {
    from: InputSource,
    output: Output,
    /// Ctrl-C was the last input.
    is_leaving: bool,
}

enum InputSource {
    Editor(Box<Editor>),
    /// A terminal without an editor: output is redirected, or it is dumb.
    Terminal,
    /// A file or another program: one message per line.
    Lines(mpsc::Receiver<Result<String>>),
    /// As above, but the whole input is one message.
    Whole(bool),
    /// Lines of JSON from a frontend program.
    Attended(mpsc::Receiver<Result<InputEvent>>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AttendedLine {
    Message { text: String },
    Answer { question: u64, answer: Value },
    Reload { confirmed: Vec<String> },
}

/// How standard input is split into messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageUnit {
    Line,
    Whole,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputEvent {
    Typed(String),
    Message(String),
    /// The configuration changed. The person confirmed the programs of these servers.
    Reload(Vec<String>),
    End,
}

impl Input {
    pub(super) fn open(piece: MessageUnit, library: &Library, session: &Session) -> Result<Self> {
        let output = session.output.clone();
        let is_dumb = session.environment.all.get("TERM").is_some_and(|term| term == "dumb");
        let from = if piece == MessageUnit::Whole {
            InputSource::Whole(false)
        } else if Prompt::find(&output).is_none() {
            InputSource::Lines(read_lines(1, Result::transpose)?)
        } else if !is_dumb && io::stdout().is_terminal() {
            InputSource::Editor(Box::new(Editor::open(library.clone(), session)?))
        } else {
            InputSource::Terminal
        };
        Ok(Self { from, output, is_leaving: false })
    }

    /// Answers to questions reach `questions` even while the conversation is busy.
    pub(super) fn attended(questions: Arc<OpenQuestions>, session: &Session) -> Result<Self> {
        let output = session.output.clone();
        let from = InputSource::Attended(read_lines(MAX_WAITING, move |line| match line {
            Err(diagnostic) => Some(Err(diagnostic)),
            Ok(None) => {
                questions.close();
                None
            }
            Ok(Some(line)) => match serde_json::from_str(&line) {
                Ok(AttendedLine::Answer { question, answer }) => {
                    questions.answer(question, answer);
                    None
                }
                Ok(AttendedLine::Message { text }) => Some(Ok(InputEvent::Typed(text))),
                Ok(AttendedLine::Reload { confirmed }) => Some(Ok(InputEvent::Reload(confirmed))),
                Err(error) => Some(Err(error).or_diagnostic(Diagnostic::usage("invalid line"))),
            },
        })?);
        Ok(Self { from, output, is_leaving: false })
    }

    pub(super) fn is_person(&self) -> bool {
        !matches!(self.from, InputSource::Lines(_) | InputSource::Whole(_))
    }

    pub(super) fn is_attended(&self) -> bool {
        matches!(self.from, InputSource::Attended(_))
    }

    /// The next message. A signal ends the wait.
    pub(super) async fn next(&mut self, signals: &mut Signals) -> Result<InputEvent> {
        loop {
            let key = match &mut self.from {
                InputSource::Editor(editor) => match editor.read(signals).await? {
                    Ok(key) => key,
                    Err(error) => {
                        self.output.warn(format!("line editing is unavailable: {error}"));
                        self.from = InputSource::Terminal;
                        continue;
                    }
                },
                InputSource::Terminal => terminal(signals).await?,
                InputSource::Lines(lines) => {
                    return tokio::select! {
                        came = piped(lines) => came,
                        exit = signals.next() => Err(Diagnostic::interrupted(exit)),
                    };
                }
                InputSource::Attended(lines) => {
                    return tokio::select! {
                        line = lines.recv() => line.unwrap_or(Ok(InputEvent::End)),
                        // Nothing is running that it could stop.
                        exit = signals.next() => match exit {
                            Exit::Interrupted => continue,
                            other => Err(Diagnostic::interrupted(other)),
                        },
                    };
                }
                InputSource::Whole(is_read) => {
                    if std::mem::replace(is_read, true) {
                        return Ok(InputEvent::End);
                    }
                    return read_all().map(InputEvent::Message);
                }
            };
            match key {
                Signal::Success(text) => {
                    self.is_leaving = false;
                    return Ok(InputEvent::Typed(text));
                }
                Signal::CtrlC if !self.is_leaving => {
                    self.is_leaving = true;
                    self.output.note("Press Ctrl-C again or Ctrl-D to quit.");
                }
                _ => return Ok(InputEvent::End),
            }
        }
    }
}

async fn terminal(signals: &mut Signals) -> Result<Signal> {
    let mut text = String::new();
    loop {
        let sign = if text.is_empty() { PROMPT } else { CONTINUATION_PROMPT };
        let most = MAX_MESSAGE_BYTES as u64;
        let line = tokio::select! {
            line = line_meanwhile(sign.trim_end().to_owned(), TypedAhead::Taken, most) => line,
            exit = signals.next() => match exit {
                Exit::Interrupted => return Ok(Signal::CtrlC),
                other => return Err(Diagnostic::interrupted(other)),
            },
        };
        let Some(line) = line else { return Ok(Signal::CtrlD) };
        if !join(&mut text, &line)? {
            return Ok(Signal::Success(text));
        }
    }
}

async fn piped(lines: &mut mpsc::Receiver<Result<String>>) -> Result<InputEvent> {
    let mut text = String::new();
    let mut is_more = false;
    while let Some(line) = lines.recv().await {
        is_more = join(&mut text, &line?)?;
        if !is_more {
            return Ok(InputEvent::Typed(text));
        }
    }
    Ok(if is_more { InputEvent::Typed(text) } else { InputEvent::End })
}

/// Adds a line to a message; returns whether another line follows.
fn join(text: &mut String, line: &str) -> Result<bool> {
    let line = line.trim_end_matches(['\n', '\r']);
    let is_continued = is_continued(line);
    text.push_str(if is_continued { &line[..line.len() - 1] } else { line });
    if is_continued {
        text.push('\n');
    }
    if text.len() > MAX_MESSAGE_BYTES { Err(too_long()) } else { Ok(is_continued) }
}

/// Reads standard input on a thread. `take` converts each line, and the end of input.
fn read_lines<T: Send + 'static>(
    most_waiting: usize,
    mut take: impl FnMut(Result<Option<String>>) -> Option<Result<T>> + Send + 'static,
) -> Result<mpsc::Receiver<Result<T>>> {
    let (sender, lines) = mpsc::channel(most_waiting);
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            let line = next_line(&mut input);
            let is_last = !matches!(line, Ok(Some(_)));
            if let Some(line) = take(line)
                && sender.blocking_send(line).is_err()
            {
                return;
            }
            if is_last {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("input".to_owned()).spawn(read);
    thread.or_failed("cannot read standard input")?;
    Ok(lines)
}

fn next_line(input: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    let most = MAX_MESSAGE_BYTES as u64 + 1;
    let read = input.by_ref().take(most).read_until(b'\n', &mut line);
    read.or_failed("cannot read standard input")?;
    if line.len() > MAX_MESSAGE_BYTES {
        return Err(too_long());
    }
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}

fn read_all() -> Result<String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_MESSAGE_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.or_failed("cannot read standard input")?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(too_long());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn too_long() -> Diagnostic {
    Diagnostic::usage(format!("the message is larger than {MAX_MESSAGE_BYTES} bytes"))
}

#[cfg(test)]
mod tests;
