//! Reads a terminal line that may be long and secret, until it is complete or cancelled.
//!
//! Terminals pass on at most 4096 bytes of a line, and pasted addresses can be longer, so the
//! terminal's own editing is off meanwhile. Dropping the future restores the terminal and
//! leaves later input to the next reader. `reedline` is not used: it cannot be cancelled while
//! it waits for a key, reads ahead, and shows the line, which may hold a secret.

use std::io::{self, IsTerminal, Stdin, Write};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Maximum length of a line; the rest is discarded.
const MAX_LINE_BYTES: usize = 64 * 1024;
const PIECE_BYTES: usize = 4096;

/// Words that are not secret.
pub(crate) type Words = &'static [&'static str];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineInput {
    Line(String),
    Ended,
}

pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Standard input, which can be waited for.
pub(super) fn watched_input() -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(rustix::io::dup(io::stdin())?, Interest::READABLE)
}

/// Shows the prompt and reads a line, of which only the length is shown unless it is the
/// beginning of one of the words. Earlier input is discarded.
pub(crate) async fn read(prompt: String, words: Words) -> io::Result<LineInput> {
    let mut raw = RawTerminal::begin()?;
    raw.show(&prompt);
    let input = watched_input()?;
    let mut editor = Editor::new(words);
    let mut buffer = [0; PIECE_BYTES];
    loop {
        let mut ready = input.readable().await?;
        let count = match rustix::io::read(&input, &mut buffer) {
            Err(Errno::INTR) => continue,
            Ok(0) | Err(Errno::AGAIN) if !ready.ready().is_read_closed() => {
                ready.clear_ready();
                continue;
            }
            Ok(0) | Err(_) => return Ok(raw.end(LineInput::Ended)),
            Ok(count) => count,
        };
        for byte in buffer.iter().take(count) {
            if let Some(typed) = editor.take(*byte) {
                raw.show(&editor.redraw());
                return Ok(raw.end(typed));
            }
        }
        raw.show(&editor.redraw());
    }
}

/// A terminal without line editing. Dropping this restores it.
struct RawTerminal {
    input: Stdin,
    before: Termios,
    shown: bool,
}

impl RawTerminal {
    fn begin() -> io::Result<Self> {
        let input = io::stdin();
        let before = tcgetattr(&input)?;
        let mut modes = before.clone();
        // Signals stay on: Ctrl-C cancels.
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        // Reads do not block.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Flush, &modes)?;
        Ok(Self { input, before, shown: false })
    }

    fn show(&mut self, text: &str) {
        self.shown = true;
        let mut out = io::stderr().lock();
        // An error of the terminal cannot be shown on it.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn end(mut self, typed: LineInput) -> LineInput {
        self.show("\n");
        self.shown = false;
        typed
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if self.shown {
            self.show("\r\x1b[K");
        }
        let _ = tcsetattr(&self.input, OptionalActions::Now, &self.before);
    }
}

#[derive(Debug)]
struct Editor {
    words: Words,
    line: Vec<u8>,
    /// Its representation on the terminal: ASCII, so that each byte is one column wide.
    shown: String,
    escape: Escape,
}

/// The state within an escape sequence.
#[derive(Debug, PartialEq, Eq)]
enum Escape {
    Outside,
    Begun,
    Inside,
}

impl Editor {
    fn new(words: Words) -> Self {
        Self { words, line: Vec::new(), shown: String::new(), escape: Escape::Outside }
    }

    /// Processes a byte; returns the input once it is complete.
    fn take(&mut self, byte: u8) -> Option<LineInput> {
        match self.escape {
            Escape::Outside => {}
            Escape::Begun if matches!(byte, b'[' | b'O') => {
                self.escape = Escape::Inside;
                return None;
            }
            Escape::Begun => self.escape = Escape::Outside,
            Escape::Inside => {
                if matches!(byte, 0x40..=0x7e) {
                    self.escape = Escape::Outside;
                }
                return None;
            }
        }
        match byte {
            b'\n' | b'\r' => {
                return Some(LineInput::Line(String::from_utf8_lossy(&self.line).into_owned()));
            }
            // Ctrl-D.
            0x04 if self.line.is_empty() => return Some(LineInput::Ended),
            // Backspace, and Ctrl-U for the whole line.
            0x08 | 0x7f => drop(self.line.pop()),
            0x15 => self.line.clear(),
            0x1b => self.escape = Escape::Begun,
            control if control.is_ascii_control() => {}
            _ if self.line.len() == MAX_LINE_BYTES => {}
            letter => self.line.push(letter),
        }
        None
    }

    /// The output that updates the display.
    fn redraw(&mut self) -> String {
        let wanted = self.masked();
        if wanted == self.shown {
            return String::new();
        }
        let back = "\x08 \x08".repeat(self.shown.len());
        self.shown = wanted;
        format!("{back}{}", self.shown)
    }

    /// The beginning of a known word; for anything else, which may be a secret, only its length.
    fn masked(&self) -> String {
        let line = String::from_utf8_lossy(&self.line);
        let begins = |word: &&str| word.starts_with(&line.to_ascii_lowercase());
        if line.is_empty() || self.words.iter().any(begins) {
            return line.into_owned();
        }
        let count = line.chars().count();
        format!("({count} character{})", if count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests;
