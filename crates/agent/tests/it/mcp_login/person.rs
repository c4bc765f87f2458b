//! A person at a terminal of their own, who reads, types and presses Ctrl-C.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use agent_test_support::command::ProgramOutput;
use agent_test_support::wait::eventually;

use crate::terminal::{Terminal, text};

/// A command at a terminal. Standard output goes elsewhere.
pub(super) struct Person {
    child: Child,
    terminal: Arc<Terminal>,
    shown: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Person {
    /// Starts the command in a new session with this terminal.
    pub(super) fn start(command: &mut Command) -> Self {
        let terminal = Arc::new(Terminal::open());
        let child = terminal.session(command).stdout(Stdio::piped()).spawn().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (from, to) = (Arc::clone(&terminal), Arc::clone(&shown));
        let reading = std::thread::spawn(move || {
            from.read(|bytes| to.lock().unwrap().extend_from_slice(bytes));
        });
        Self { child, terminal, shown, reading }
    }

    /// The text on the screen so far.
    pub(super) fn shown(&self) -> String {
        text(&self.shown.lock().unwrap())
    }

    /// Waits until this is shown so often.
    pub(super) fn sees(&self, text: &str, times: usize) -> &Self {
        eventually(text, || self.shown().matches(text).count() >= times);
        self
    }

    pub(super) fn types(&mut self, text: &str) -> &mut Self {
        self.terminal.types(text);
        self
    }

    /// Whether the terminal edits lines and shows what is typed, as it does for everybody.
    pub(super) fn has_an_ordinary_terminal(&self) -> bool {
        self.terminal.is_ordinary()
    }

    /// Waits for the end.
    pub(super) fn finish(mut self) -> ProgramOutput {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        assert!(self.has_an_ordinary_terminal(), "the terminal is left as it was found");
        self.terminal.end();
        self.reading.join().unwrap();
        ProgramOutput { code, stdout, stderr: text(&self.shown.lock().unwrap()) }
    }
}
