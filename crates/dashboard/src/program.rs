//! Runs the commands of the program as child processes: pages do what the command line does.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

/// Timeout of a command that a page waits for.
const MAX_WAIT: Duration = Duration::from_mins(2);

/// The program, and the options of every command.
#[derive(Debug, Clone)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Global options, such as the profile.
    pub options: Vec<OsString>,
}

/// The error of a failed command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct CommandError {
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The error of a JSON line of standard error.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        Self::deserialize(value.get("error")?).ok()
    }

    /// The message, including the hint.
    pub(crate) fn text(&self) -> String {
        let mut text = self.message.clone();
        for more in self.causes.iter().chain(&self.hints) {
            text.push_str(". ");
            text.push_str(more);
        }
        text
    }
}

impl Program {
    /// The parsed JSON output of a command.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        words: &[&str],
    ) -> Result<T, CommandError> {
        parsed(self.json(words).await?)
    }

    /// The list under this key in the JSON output of a command.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        key: &str,
        words: &[&str],
    ) -> Result<Vec<T>, CommandError> {
        list(key, self.json(words).await?)
    }

    /// The JSON output of a command.
    pub(crate) async fn json(&self, words: &[&str]) -> Result<Value, CommandError> {
        self.json_with(words, "").await
    }

    /// The same, with this standard input.
    pub(crate) async fn json_with(
        &self,
        words: &[&str],
        input: &str,
    ) -> Result<Value, CommandError> {
        let text = self.run(&[&["--json"], words].concat(), input).await?;
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&text)
            .map_err(|error| CommandError::new(format!("`agent {}`: {error}", words.join(" "))))
    }

    /// Standard output of a command; valid unless it reports an error.
    pub(crate) async fn run(&self, words: &[&str], input: &str) -> Result<Vec<u8>, CommandError> {
        let mut child = self.start(words)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that reads nothing has closed its input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = tokio::time::timeout(MAX_WAIT, child.wait_with_output()).await;
        let Ok(output) = output else {
            return Err(CommandError::new(format!(
                "`agent {}` did not finish within {} seconds",
                words.join(" "),
                MAX_WAIT.as_secs()
            )));
        };
        let output = output.map_err(|error| cannot_run(&error))?;
        let notes = String::from_utf8_lossy(&output.stderr);
        if let Some(error) = notes.lines().rev().find_map(CommandError::of_line) {
            return Err(error);
        }
        if !output.status.success() && output.stdout.is_empty() {
            let last = notes.lines().last().unwrap_or("no error message");
            return Err(CommandError::new(last));
        }
        Ok(output.stdout)
    }

    /// Starts a command with pipes; it ends when the child is dropped.
    pub(crate) fn start(&self, words: &[&str]) -> Result<Child, CommandError> {
        let child = Command::new(&self.path)
            .args(&self.options)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        child.map_err(|error| cannot_run(&error))
    }
}

/// The list under this key.
pub(crate) fn list<T: DeserializeOwned>(
    key: &str,
    mut value: Value,
) -> Result<Vec<T>, CommandError> {
    parsed(value.get_mut(key).map(Value::take).unwrap_or_default())
}

fn parsed<T: DeserializeOwned>(value: Value) -> Result<T, CommandError> {
    serde_json::from_value(value).map_err(|error| CommandError::new(error.to_string()))
}

fn cannot_run(error: &std::io::Error) -> CommandError {
    CommandError::new(format!("cannot run `agent`: {error}"))
}
