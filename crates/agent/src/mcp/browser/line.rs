//! A line from the terminal, however long, that can be given up while somebody types.
//!
//! A terminal hands over at most 4096 bytes of a line, and pasted addresses can be longer. So its
//! own editing is off while we read; who drops the reading gets the terminal back as it was, and
//! nothing that is typed later is lost.

use std::io::{self, IsTerminal, Stdin, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::sync::oneshot;

use super::GIVE_UP;

/// The longest line that is kept; the rest of it is thrown away.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How much is taken from the terminal at once.
const PIECE_BYTES: usize = 4096;

/// What came of a reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineInput {
    /// A line, without its end.
    Line(String),
    /// Nothing more will come.
    Ended,
}

/// Whether a person can be read from.
pub(super) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows the prompt and reads a line. What was typed before is thrown away.
pub(super) async fn read(prompt: &'static str) -> io::Result<LineInput> {
    let (stop, stopped) = UnixStream::pair()?;
    let (tell, told) = oneshot::channel();
    let reading = std::thread::Builder::new().name("line".to_owned()).spawn(move || {
        // Nobody hears it where the reading was given up.
        let _ = tell.send(read_until(prompt, &stopped));
    })?;
    let _reader = Reader { stop: Some(stop), reading: Some(reading) };
    told.await.unwrap_or(Ok(LineInput::Ended))
}

/// A thread that reads. When this is gone it has ended, and the terminal is as it was.
struct Reader {
    stop: Option<UnixStream>,
    reading: Option<JoinHandle<()>>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The other end of a closed pair wakes at once, so nobody is kept waiting.
        drop(self.stop.take());
        if let Some(reading) = self.reading.take() {
            let _ = reading.join();
        }
    }
}

fn read_until(prompt: &str, stopped: &UnixStream) -> io::Result<LineInput> {
    let mut raw = RawTerminal::begin()?;
    raw.show(prompt);
    let mut editor = Editor::default();
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

/// A terminal that hands over each byte. It is as it was when this is gone.
struct RawTerminal {
    input: Stdin,
    before: Termios,
    /// Something stands on the line.
    shown: bool,
}

impl RawTerminal {
    fn begin() -> io::Result<Self> {
        let input = io::stdin();
        let before = tcgetattr(&input)?;
        let mut modes = before.clone();
        // Signals stay: Ctrl-C is the way out.
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        // Reading never waits: whoever is told that there is something reads what there is.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Flush, &modes)?;
        Ok(Self { input, before, shown: false })
    }

    fn show(&mut self, text: &str) {
        self.shown = true;
        let mut out = io::stderr().lock();
        // A terminal that cannot be written to cannot be told so.
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

/// The line so far.
#[derive(Debug, Default)]
struct Editor {
    line: Vec<u8>,
    /// What stands for it on the terminal: ASCII, so that each byte is one place wide.
    shown: String,
    escape: Escape,
}

/// Where in a key's sequence of bytes we are.
#[derive(Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    Outside,
    Begun,
    Inside,
}

impl Editor {
    /// Takes a byte; what was typed, once it is whole.
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

    /// What brings the terminal from what it shows to what it should.
    fn redraw(&mut self) -> String {
        let wanted = self.look();
        if wanted == self.shown {
            return String::new();
        }
        let back = "\x08 \x08".repeat(self.shown.len());
        self.shown = wanted;
        format!("{back}{}", self.shown)
    }

    /// The beginning of a word that we know; of all else, which may hold a code, only its length.
    fn look(&self) -> String {
        let line = String::from_utf8_lossy(&self.line);
        if GIVE_UP.iter().any(|word| word.starts_with(&line.to_ascii_lowercase())) {
            return line.into_owned();
        }
        let count = line.chars().count();
        format!("({count} character{})", if count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of these bytes, and what is shown meanwhile.
    fn typed(bytes: &[u8]) -> (Option<LineInput>, String) {
        let (mut editor, mut shown) = (Editor::default(), String::new());
        for byte in bytes {
            let typed = editor.take(*byte);
            shown.push_str(&editor.redraw());
            if typed.is_some() {
                return (typed, shown);
            }
        }
        (None, shown)
    }

    fn line(bytes: &[u8]) -> String {
        match typed(bytes).0 {
            Some(LineInput::Line(line)) => line,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_line_ends_with_either_end() {
        assert_eq!(line(b"skip\n"), "skip");
        assert_eq!(line(b"skip\r"), "skip");
        assert_eq!(line(b"\n"), "");
        assert_eq!(typed(b"skip").0, None);
    }

    #[test]
    fn what_was_typed_can_be_taken_back() {
        assert_eq!(line(b"skop\x7f\x7fip\n"), "skip");
        assert_eq!(line(b"\x7f\x08abc\x15x\n"), "x");
        assert_eq!(typed(b"sk\x7f").1, "s\x08 \x08sk\x08 \x08\x08 \x08s");
    }

    #[test]
    fn the_end_of_input_counts_on_an_empty_line_only() {
        assert_eq!(typed(b"\x04").0, Some(LineInput::Ended));
        assert_eq!(line(b"a\x04b\n"), "ab");
    }

    #[test]
    fn keys_that_are_no_letters_leave_nothing_behind() {
        assert_eq!(line(b"a\x1b[A\x1b[1;5C\x1bOPb\x07\n"), "ab");
        // As terminals mark what is pasted.
        assert_eq!(line(b"\x1b[200~http://x\x1b[201~\n"), "http://x");
    }

    #[test]
    fn a_code_that_is_pasted_is_not_shown() {
        let pasted = b"http://127.0.0.1:27890/callback?code=topsecret&state=x\n";
        let (read, shown) = typed(pasted);
        for piece in ["http", "127", "code", "topsecret", "state"] {
            assert!(!shown.contains(piece), "{piece}: {shown}");
        }
        assert!(shown.ends_with("(54 characters)"), "{shown}");
        // Whole pieces are shown at once.
        let mut editor = Editor::default();
        assert!(b"topsecret".iter().all(|byte| editor.take(*byte).is_none()));
        assert_eq!((editor.redraw(), editor.redraw()), ("(9 characters)".into(), String::new()));
        assert!(
            matches!(read, Some(LineInput::Line(line)) if line.ends_with("code=topsecret&state=x"))
        );
    }

    #[test]
    fn a_line_is_longer_than_terminals_allow_but_not_endless() {
        let long = |length: usize| {
            let mut editor = Editor::default();
            assert!((0..length).all(|_| editor.take(b'x').is_none()));
            match editor.take(b'\n') {
                Some(LineInput::Line(line)) => line.len(),
                _ => 0,
            }
        };
        assert_eq!(long(5000), 5000);
        assert_eq!(long(MAX_LINE_BYTES + 5), MAX_LINE_BYTES);
    }

    #[test]
    fn letters_of_any_script_are_kept() {
        assert_eq!(line("grün\n".as_bytes()), "grün");
        assert_eq!(line(b"\xff\n"), "\u{fffd}");
    }
}
