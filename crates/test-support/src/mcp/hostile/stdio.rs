//! The stdio transport: faults of the lines and of the process.

use std::fs;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::behaviour::Behaviour;
use super::server::{MessageResult, Server, Sink, is_affected, print_error, secret};

const DRIP_EVERY: Duration = Duration::from_millis(20);
const STDERR_FLOOD_BYTES: usize = 100_000_000;
const PIECE_BYTES: usize = 64 * 1024;
const PARKED: Duration = Duration::from_hours(1);

/// Serves until the input ends and returns the exit code.
pub(super) fn serve(behaviour: Behaviour) -> u8 {
    match behaviour {
        Behaviour::StderrSecret => {
            print_error(&format!("connecting with the key {}", secret()));
        }
        Behaviour::Stubborn => ignore_term(behaviour),
        _ => {}
    }
    if matches!(behaviour, Behaviour::Stubborn | Behaviour::LeaderLeaves) {
        start_children();
    }
    let server = Arc::new(Server::new(behaviour));
    let opened = Arc::new(AtomicBool::new(false));
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
        if let Ok(message) = serde_json::from_slice::<Value>(&line) {
            receive(&server, &opened, message);
        }
        line.clear();
        if behaviour == Behaviour::Deaf && opened.load(Ordering::SeqCst) {
            park();
        }
    }
    if behaviour == Behaviour::Stubborn {
        park();
    }
    0
}

/// A call of `good` may block for ever, and a flood for long, so they run in threads.
fn receive(server: &Arc<Server>, opened: &Arc<AtomicBool>, message: Value) {
    let is_affected = is_affected(&message);
    let is_notification = message.get("id").is_none();
    let (server, opened) = (Arc::clone(server), Arc::clone(opened));
    // `Reversed` depends on the order of messages.
    let beside = (is_affected && server.behaviour != Behaviour::Reversed) || is_notification;
    let work = move || {
        let lines = LineWriter { behaviour: server.behaviour, is_affected, opened };
        let mut out = Sink::new(|message: &[u8]| lines.send(message));
        if let MessageResult::Exit(code) = server.receive(&message, &mut out) {
            std::process::exit(i32::from(code));
        }
    };
    if beside {
        thread::spawn(work);
    } else {
        work();
    }
}

fn park() {
    loop {
        thread::sleep(PARKED);
    }
}

/// Sends messages as lines, with the faults of the behaviour.
struct LineWriter {
    behaviour: Behaviour,
    /// Whether this is about a call of `good`.
    is_affected: bool,
    opened: Arc<AtomicBool>,
}

impl LineWriter {
    fn send(&self, message: &[u8]) -> std::io::Result<()> {
        let mut output = std::io::stdout().lock();
        let first = !self.opened.swap(true, Ordering::SeqCst);
        self.write(&mut output, message, first).and_then(|()| output.flush())
    }

    fn write(&self, output: &mut dyn Write, message: &[u8], first: bool) -> std::io::Result<()> {
        match self.behaviour {
            Behaviour::NoiseBefore if first => {
                output.write_all(b"Hostile server 1.0\nListening on standard input...\n")?;
            }
            Behaviour::NoiseBetween => output.write_all(b"[info] about to answer\n")?,
            Behaviour::JsonNoise => output.write_all(
                b"{\"hello\":\"world\"}\n42\nnull\n\"text\"\n[]\n{\"jsonrpc\":\"2.0\"}\n",
            )?,
            Behaviour::BlankLines => output.write_all(b"\n\r\n   \n")?,
            Behaviour::Bom if first => output.write_all(b"\xef\xbb\xbf")?,
            Behaviour::ContentLengthFrames => {
                write!(output, "Content-Length: {}\r\n\r\n", message.len())?;
            }
            _ => {}
        }
        if self.is_affected {
            return self.write_faulty(output, message);
        }
        output.write_all(message)?;
        output.write_all(self.line_end())
    }

    /// The faulty line that answers a call of `good`.
    fn write_faulty(&self, output: &mut dyn Write, message: &[u8]) -> std::io::Result<()> {
        match self.behaviour {
            Behaviour::TwoOnALine => {
                output.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}")?;
            }
            Behaviour::Pretty => {
                let value: Value = serde_json::from_slice(message)?;
                serde_json::to_writer_pretty(&mut *output, &value)?;
                return output.write_all(b"\n");
            }
            Behaviour::SlowDrip => {
                for byte in message {
                    output.write_all(&[*byte])?;
                    output.flush()?;
                    thread::sleep(DRIP_EVERY);
                }
                return output.write_all(b"\n");
            }
            Behaviour::HalfLineThenExit => leave(output, &message[..message.len() / 2]),
            Behaviour::NoFinalNewline => leave(output, message),
            Behaviour::EndlessLine => {
                let piece = vec![b'x'; PIECE_BYTES];
                loop {
                    output.write_all(&piece)?;
                }
            }
            Behaviour::StderrFlood => {
                let mut errors = std::io::stderr().lock();
                let piece = vec![b'e'; PIECE_BYTES];
                for _ in 0..STDERR_FLOOD_BYTES / PIECE_BYTES {
                    errors.write_all(&piece)?;
                }
            }
            _ => {}
        }
        output.write_all(message)?;
        output.write_all(self.line_end())
    }

    fn line_end(&self) -> &'static [u8] {
        match self.behaviour {
            Behaviour::Crlf => b"\r\n",
            Behaviour::ContentLengthFrames => b"",
            Behaviour::BlankLines => b"\n\n\n",
            _ => b"\n",
        }
    }
}

/// Writes exactly these bytes and exits.
fn leave(output: &mut dyn Write, words: &[u8]) -> ! {
    // It exits even if the output is closed.
    let _ = output.write_all(words).and_then(|()| output.flush());
    std::process::exit(0);
}

/// Set in the environment of the process once it ignores SIGTERM.
const ARMED: &str = "HOSTILE_ARMED";

/// Names the file for the process ids.
const PIDS: &str = "HOSTILE_PIDS";

/// Replaces the process by the same program with SIGTERM ignored, which a shell sets and it
/// inherits.
fn ignore_term(behaviour: Behaviour) {
    if std::env::var_os(ARMED).is_some() {
        return;
    }
    match std::env::current_exe() {
        Ok(program) => {
            let error = Command::new("sh")
                .args(["-c", "trap '' TERM; exec \"$0\" stdio \"$1\""])
                .arg(program)
                .arg(behaviour.name())
                .env(ARMED, "1")
                .exec();
            print_error(&format!("cannot become stubborn: {error}"));
        }
        Err(error) => print_error(&format!("cannot become stubborn: {error}")),
    }
}

/// Starts a child in our process group and one in a new session; both hold our output for ten
/// minutes. Writes `leader ID`, `child ID` and `session ID` to the file named by `HOSTILE_PIDS`.
fn start_children() {
    let child = start_child(Command::new("sleep").arg("600"));
    let session = start_child(Command::new("setsid").args(["sleep", "600"]));
    let ids = format!("leader {}\nchild {child}\nsession {session}\n", std::process::id());
    if let Some(path) = std::env::var_os(PIDS)
        && let Err(error) = fs::write(path, ids)
    {
        print_error(&format!("cannot write the ids: {error}"));
    }
}

/// They are left behind on purpose.
fn start_child(command: &mut Command) -> u32 {
    match command.stdin(Stdio::null()).spawn() {
        Ok(child) => child.id(),
        Err(error) => {
            print_error(&format!("cannot start a child: {error}"));
            0
        }
    }
}
