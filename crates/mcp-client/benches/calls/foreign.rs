//! Clients in other languages: small programs of ours on the official libraries, which make a given
//! number of calls and print how long each took.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::contender::{Era, Place};
use crate::rounds::Work;

/// The language of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    TypeScript,
    Python,
}

impl Language {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
        }
    }

    /// The program that runs its client, if the library is installed.
    fn command(self) -> Option<Command> {
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
        match self {
            Self::TypeScript => {
                let folder = installed.join("typescript/node_modules/@modelcontextprotocol/client");
                let mut command = Command::new("node");
                command.arg(script("client.mjs")).arg(&folder);
                folder.is_dir().then_some(command)
            }
            Self::Python => {
                let (own, site) =
                    (installed.join("python/bin/python"), installed.join("python/site"));
                let mut command = Command::new(if site.is_dir() { "python3".into() } else { own });
                if site.is_dir() {
                    command.env("PYTHONPATH", site);
                }
                command.arg(script("client.py"));
                installed.join("python").is_dir().then_some(command)
            }
        }
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(name)
}

/// A running client. It reads one JSON object a line: a tool, arguments, the text that must come
/// back, and how many calls; it answers with a list of nanoseconds.
pub(crate) struct Foreign {
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Foreign {
    /// Starts it and waits until it is connected; the reason why there is none.
    pub(crate) async fn start(language: Language, place: &Place, era: Era) -> Result<Self, String> {
        let mut command = language.command().ok_or("its library is not installed")?;
        command.arg(if era == Era::Legacy { "legacy" } else { "2026-07-28" });
        match place {
            Place::Stdio(launch) => command.arg("stdio").arg(&launch.command).args(&launch.args),
            Place::Http(url) => command.args(["http", url]),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let input = process.stdin.take().ok_or("it has no input")?;
        let output = process.stdout.take().ok_or("it has no output")?;
        let mut output = BufReader::new(output).lines();
        match output.next_line().await {
            Ok(Some(line)) if line == "ready" => Ok(Self { _process: process, input, output }),
            Ok(Some(line)) => Err(format!("it said `{line}`")),
            Ok(None) => Err("it ended before it was connected".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(crate) async fn round(&mut self, work: &Work, calls: usize) -> Vec<Duration> {
        let task = json!({
            "tool": work.tool,
            "arguments": work.arguments,
            "expected": work.expected,
            "calls": calls,
        });
        self.input.write_all(format!("{task}\n").as_bytes()).await.expect("it reads");
        let line = self.output.next_line().await.ok().flatten().expect("it answers");
        let times: Vec<u64> = serde_json::from_str(&line).expect("it answers with times");
        assert_eq!(times.len(), calls);
        times.into_iter().map(Duration::from_nanos).collect()
    }
}
