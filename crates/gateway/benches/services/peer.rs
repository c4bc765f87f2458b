//! The peer that reads pages too: trafilatura of Python, in a process that stays.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use crate::process::Processes;

/// A running process, which ends with this value.
#[derive(Debug)]
pub(crate) struct Trafilatura {
    pub(crate) processes: Processes,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What it found.
#[derive(Debug, Deserialize)]
pub(crate) struct Read {
    pub(crate) characters: usize,
    /// Whether it has the beginning and the end of the article.
    pub(crate) is_whole: bool,
}

impl Trafilatura {
    /// Starts it on a page, with the marks that its article has; the reason why there is none.
    pub(crate) fn start(page: &Path, marks: &[&str]) -> Result<Self, String> {
        let mut command = command().ok_or("trafilatura is not installed")?;
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/trafilatura_page.py"));
        command.arg(page).args(marks).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let input = child.stdin.take().ok_or("it has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        let processes = Processes(vec![child.id()]);
        let mut peer = Self { processes, child, input, output };
        let ready = peer.line();
        if ready.trim() == "ready" { Ok(peer) } else { Err("it did not start".to_owned()) }
    }

    /// Reads the page so many times.
    pub(crate) fn read(&mut self, times: u32) -> Read {
        writeln!(self.input, "{times}").and_then(|()| self.input.flush()).expect("it listens");
        serde_json::from_str(&self.line()).expect("it says what it found")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        line
    }
}

impl Drop for Trafilatura {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python that has it, if it was installed.
fn command() -> Option<Command> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/trafilatura");
    let (own, site) = (folder.join("bin/python"), folder.join("site"));
    if site.is_dir() {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", site);
        return Some(command);
    }
    own.is_file().then(|| Command::new(own))
}
