//! Reads a terminal line that may be long and secret, until it is complete or cancelled.
//!
//! Terminals pass on at most 4096 bytes of a line, and pasted addresses can be longer, so the
//! terminal's own editing is off meanwhile. Dropping the future restores the terminal and
//! leaves later input to the next reader. `reedline` is not used: it cannot be cancelled while
//! it waits for a key, reads ahead, and shows the line, which may hold a secret.

use std::io::{self, IsTerminal, Stdin, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::sync::oneshot;

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

/// Shows the prompt and reads a line, of which only the length is shown unless it is the
/// beginning of one of the words. Earlier input is discarded.
pub(crate) async fn read(prompt: String, words: Words) -> io::Result<LineInput> {
    let (stop, stopped) = UnixStream::pair()?;
    let (tell, told) = oneshot::channel();
    let reading = std::thread::Builder::new().name("line".to_owned()).spawn(move || {
        // The receiver is gone if the read was cancelled.
        let _ = tell.send(read_until(&prompt, Editor::new(words), &stopped));
    })?;
    let _reader = Reader { stop: Some(stop), reading: Some(reading) };
    told.await.unwrap_or(Ok(LineInput::Ended))
}

/// The reading thread. Dropping this stops it and restores the terminal.
struct Reader {
    stop: Option<UnixStream>,
    reading: Option<JoinHandle<()>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Closing one end wakes the other at once, so this does not block.
        drop(self.stop.take());
        if let Some(reading) = self.reading.take() {
            let _ = reading.join();
        }
    }
}

fn read_until(prompt: &str, mut editor: Editor, stopped: &UnixStream) -> io::Result<LineInput> {
    let mut raw = RawTerminal::begin()?;
    raw.show(prompt);
    let mut buffer = [0; PIECE_BYTES];
    let input = io::stdin();
    loop {
        let mut watched = [PollFd::new(&input, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let [typed, stop] = watched.map(|watched| watched.revents());
        if !stop.is_empty() {
            return Ok(LineInput::Ended);
        }
        let count = match rustix::io::read(&input, &mut buffer) {
            Ok(0) if typed.contains(PollFlags::IN) && !typed.contains(PollFlags::HUP) => continue,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => continue,
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
        // Reads do not block: poll waits for input.
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
