//! A terminal of 80 columns with a person before it, who reads it and types.
//!
//! It is as long as anything these tests show, so that nothing scrolls away.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_test_support::wait::{DEADLINE, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::terminal::Terminal;

const COLUMNS: u16 = 80;
const ROWS: u16 = 1000;

/// A command at a terminal.
pub(crate) struct Screen {
    child: Child,
    terminal: Arc<Terminal>,
    drawn: Arc<Mutex<Drawn>>,
    reading: JoinHandle<()>,
}

impl Screen {
    /// Starts the command in a new session with this terminal.
    pub(crate) fn start(command: &mut Command) -> Self {
        let terminal = Arc::new(Terminal::open().sized(COLUMNS, ROWS));
        let child = terminal.session(command).spawn().unwrap();
        let drawn = Arc::new(Mutex::new(Drawn::default()));
        let (from, to) = (Arc::clone(&terminal), Arc::clone(&drawn));
        let reading = std::thread::spawn(move || {
            from.read(|bytes| {
                let answers = to.lock().unwrap().draw(bytes);
                from.types(&answers);
            });
        });
        Self { child, terminal, drawn, reading }
    }

    /// The text on the screen.
    pub(crate) fn text(&self) -> String {
        self.drawn.lock().unwrap().text()
    }

    /// Waits until this is on the screen so often.
    pub(crate) fn sees_times(&self, text: &str, times: usize) -> &Self {
        self.waits(text, || self.text().matches(text).count() >= times);
        self
    }

    pub(crate) fn sees(&self, text: &str) -> &Self {
        self.sees_times(text, 1)
    }

    /// Waits until something can be typed for the so-many-th time.
    pub(crate) fn awaits_prompt(&mut self, times: usize) -> &mut Self {
        let is_there = || {
            let drawn = self.drawn.lock().unwrap();
            drawn.prompts >= times && drawn.is_editing && drawn.line() == ">"
        };
        self.waits(&format!("prompt {times}"), is_there);
        self
    }

    /// Waits; where that is in vain, the screen says why.
    fn waits(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + DEADLINE;
        eventually(what, || {
            let is_late = Instant::now() + Duration::from_secs(1) > deadline;
            assert!(!is_late || holds(), "never `{what}` in:\n{}", self.text());
            is_late || holds()
        });
    }

    /// Types as is.
    pub(crate) fn types(&mut self, text: &str) -> &mut Self {
        self.terminal.types(text);
        self
    }

    /// Enters a line and returns at once.
    pub(crate) fn enters(&mut self, text: &str) -> &mut Self {
        self.types(&format!("{text}\r"))
    }

    /// Enters a line, waits until the next one can be typed, and gives what was shown between.
    pub(crate) fn says(&mut self, text: &str) -> String {
        let (prompts, row) = self.here();
        self.enters(text).awaits_prompt(prompts + 1);
        let lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        let (_, last) = self.here();
        // The typed line and the new prompt do not count.
        lines[row + 1..last].join("\n")
    }

    /// How often something could be typed, and in which row of the screen the person is.
    pub(crate) fn here(&self) -> (usize, usize) {
        let drawn = self.drawn.lock().unwrap();
        (drawn.prompts, drawn.row)
    }

    /// Ends it as nothing can be ended more.
    pub(crate) fn kill(mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        self.child.wait().unwrap();
        self.terminal.end();
        self.reading.join().unwrap();
    }

    /// Takes the terminal away; the exit code of what was before it, if it has one.
    pub(crate) fn hangs_up(self) -> Option<i32> {
        let Self { mut child, terminal, reading, .. } = self;
        terminal.end();
        reading.join().unwrap();
        drop(Arc::into_inner(terminal).unwrap());
        let mut status = None;
        eventually("it ends", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        let status = status.unwrap();
        status.code().or_else(|| status.signal().map(|signal| -signal))
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end: the exit code, and all text on the screen.
    pub(crate) fn finish(mut self) -> (i32, String) {
        let mut code = None;
        eventually("it ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        assert!(self.terminal.is_ordinary(), "the terminal is left as it was found");
        self.terminal.end();
        self.reading.join().unwrap();
        let text = self.drawn.lock().unwrap().text();
        (code.unwrap().code().unwrap_or(-1), text)
    }
}

/// What was drawn so far.
#[derive(Debug, Default)]
struct Drawn {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    saved: (usize, usize),
    /// What came of a sequence or a letter that is not whole.
    pending: Vec<u8>,
    /// Lines can be edited now, and how often they could.
    is_editing: bool,
    prompts: usize,
}

impl Drawn {
    /// Takes bytes; gives what a terminal answers.
    fn draw(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut answers = String::new();
        while let Some(length) = whole(&self.pending) {
            let piece: Vec<u8> = self.pending.drain(..length).collect();
            let piece = String::from_utf8_lossy(&piece).into_owned();
            match piece.strip_prefix('\x1b') {
                None => piece.chars().for_each(|letter| self.letter(letter)),
                Some(sequence) => match sequence.strip_prefix('[') {
                    Some("6n") => {
                        answers.push_str(&format!("\x1b[{};{}R", self.row + 1, self.column + 1));
                    }
                    Some(sequence) => self.control(sequence),
                    None if sequence == "7" => self.saved = (self.row, self.column),
                    None if sequence == "8" => (self.row, self.column) = self.saved,
                    None => {}
                },
            }
        }
        answers
    }

    fn letter(&mut self, letter: char) {
        match letter {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            '\x08' => self.column = self.column.saturating_sub(1),
            '\x07' => {}
            _ => {
                if self.column == usize::from(COLUMNS) {
                    (self.row, self.column) = (self.row + 1, 0);
                }
                assert!(self.row < usize::from(ROWS), "the screen is too short");
                let column = self.column;
                let line = self.of(self.row);
                if line.len() <= column {
                    line.resize(column + 1, ' ');
                }
                line[column] = letter;
                self.column += 1;
            }
        }
    }

    fn of(&mut self, row: usize) -> &mut Vec<char> {
        if self.lines.len() <= row {
            self.lines.resize(row + 1, Vec::new());
        }
        &mut self.lines[row]
    }

    fn control(&mut self, sequence: &str) {
        let (numbers, last) = sequence.split_at(sequence.len() - 1);
        let number = |at: usize| numbers.split(';').nth(at).and_then(|n| n.parse::<usize>().ok());
        let many = number(0).unwrap_or(1).max(1);
        match last {
            "A" => self.row = self.row.saturating_sub(many),
            "B" => self.row += many,
            "C" => self.column = (self.column + many).min(usize::from(COLUMNS) - 1),
            "D" => self.column = self.column.saturating_sub(many),
            "E" => (self.row, self.column) = (self.row + many, 0),
            "F" => (self.row, self.column) = (self.row.saturating_sub(many), 0),
            "G" => self.column = many - 1,
            "H" | "f" => {
                (self.row, self.column) = (many - 1, number(1).unwrap_or(1).max(1) - 1);
            }
            "J" => match number(0).unwrap_or(0) {
                0 => {
                    self.clear_line(0);
                    let row = self.row;
                    self.lines.truncate(row + 1);
                }
                _ => self.lines.clear(),
            },
            "K" => self.clear_line(number(0).unwrap_or(0)),
            "h" if numbers == "?2004" => {
                self.is_editing = true;
                self.prompts += 1;
            }
            "l" if numbers == "?2004" => self.is_editing = false,
            _ => {}
        }
    }

    fn clear_line(&mut self, how: usize) {
        let (row, column) = (self.row, self.column);
        let line = self.of(row);
        match how {
            0 => line.truncate(column),
            1 => line.iter_mut().take(column + 1).for_each(|letter| *letter = ' '),
            _ => line.clear(),
        }
    }

    /// The line that the cursor is in.
    fn line(&self) -> String {
        let line: String = self.lines.get(self.row).into_iter().flatten().collect();
        line.trim_end().to_owned()
    }

    fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>());
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }
}

/// How long the first sequence or letter is, if all of it came.
fn whole(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    let length = match (first, bytes.get(1)) {
        (0x1b, None) => return None,
        (0x1b, Some(b'[')) => {
            let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            end + 3
        }
        (0x1b, Some(b']')) => bytes.iter().position(|byte| *byte == 0x07)? + 1,
        (0xf0.., _) => 4,
        (0xe0.., _) => 3,
        (0x1b, Some(_)) | (0xc0.., _) => 2,
        _ => 1,
    };
    (bytes.len() >= length).then_some(length)
}
