//! Runs the real program in a home of its own, with an environment of its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A temporary home and the program to run in it.
#[derive(Debug)]
pub struct Bench {
    program: PathBuf,
    home: TempDir,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub struct Run {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Bench {
    /// A bench for the program at this path: `env!("CARGO_BIN_EXE_agent")` in its tests.
    ///
    /// # Panics
    /// If no temporary folder can be made.
    #[expect(clippy::expect_used, reason = "a test without a folder cannot go on")]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        Bench { program: program.into(), home }
    }

    /// The folder the program takes for its home; it is empty until the program fills it.
    pub fn home(&self) -> PathBuf {
        self.home.path().join("agent-home")
    }

    /// A folder for the test's own files, which is also the working folder of the program.
    pub fn work(&self) -> &Path {
        self.home.path()
    }

    /// The program with a clean environment.
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

    /// Runs the program to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        Run::of(&mut self.command(arguments), b"")
    }

    /// Runs the program to its end with this on standard input.
    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Run {
        Run::of(&mut self.command(arguments), input)
    }
}

impl Run {
    /// Runs a command to its end.
    ///
    /// # Panics
    /// If the program cannot be started.
    #[expect(clippy::expect_used, reason = "a test without its program cannot go on")]
    pub fn of(command: &mut Command, input: &[u8]) -> Run {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            // A program that does not read its input is free not to.
            stdin.as_mut().map(|pipe| pipe.write_all(&input))
        });
        let output = child.wait_with_output().expect("the program ends");
        drop(feeder.join());
        Run::from(output)
    }

    /// The whole run as one text, for snapshots.
    pub fn transcript(&self) -> String {
        format!(
            "exit code: {}\n----- stdout -----\n{}----- stderr -----\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
