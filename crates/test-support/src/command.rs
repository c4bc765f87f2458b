//! Runs the real program in a temporary home directory with a clean environment.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

#[derive(Debug)]
pub struct TestHome {
    program: PathBuf,
    home: TempDir,
}

#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl TestHome {
    /// Prepares a home for the program at this path: `env!("CARGO_BIN_EXE_agent")` in its tests.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        TestHome { program: program.into(), home }
    }

    /// The program's home directory; empty until the program writes to it.
    pub fn home(&self) -> PathBuf {
        self.home.path().join("agent-home")
    }

    /// Directory for the test's files, which is also the program's working directory.
    pub fn work(&self) -> &Path {
        self.home.path()
    }

    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            .env("AGENT_HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(self.work());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(arguments), b"")
    }

    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(arguments), input)
    }
}

impl ProgramOutput {
    pub fn of(command: &mut Command, input: &[u8]) -> ProgramOutput {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            // A program may exit without reading its input.
            stdin.as_mut().map(|pipe| pipe.write_all(&input))
        });
        let output = child.wait_with_output().expect("the program ends");
        drop(feeder.join());
        ProgramOutput::from(output)
    }

    /// The whole run as one text, for snapshots.
    pub fn transcript(&self) -> String {
        format!(
            "exit code: {}\n----- stdout -----\n{}----- stderr -----\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        ProgramOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
