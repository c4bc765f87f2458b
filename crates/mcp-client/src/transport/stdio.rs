//! A server that runs here, spoken to over its standard streams.
//!
//! One task attends each process: it reads both outputs, notices the exit, and ends the whole
//! group whatever the reason. Sending never waits: what the pipe does not take at once is queued,
//! up to a limit, and written by a task that lives as long as the queue.

mod input;
mod joined;
mod log;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::input::{Input, Trouble};
use self::joined::{Join, Joined, MAX_JOINED_BYTES};
use self::log::Log;
use super::environment;
use super::lines::{Line, Lines, MAX_LINE_BYTES};
use crate::config::StdioEndpoint;
use crate::error::{Error, Exit};
use crate::guardian::Guardian;
use crate::host::Host;
use crate::message::{self, Incoming, head};
use crate::process::{Group, MARKER};
use crate::redact::Redactor;
use crate::router::{CloseReason, Router};

/// How much of a server's standard error is kept for the error that may follow.
const MAX_STDERR_TAIL_BYTES: usize = 32 * 1024;
/// How much of it is read at once.
const STDERR_READ_BYTES: usize = 4096;
/// How much of a line that is no message is quoted.
const MAX_NOISE_BYTES: usize = 200;
/// How long the last output of a process that has ended may take to arrive.
const DRAIN: Duration = Duration::from_millis(250);
/// How long a process may outlive its closed output before we act.
const EXIT_AFTER_EOF: Duration = Duration::from_secs(1);
/// How long a process has to end by itself once its input is closed.
const EXIT_AFTER_CLOSE: Duration = Duration::from_millis(200);

/// What starting a server needs beside its entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) server: &'a str,
    pub(crate) host: &'a Host,
    pub(crate) guardian: &'a Arc<Guardian>,
    pub(crate) tasks: &'a TaskTracker,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct StdioLink {
    input: Arc<Input>,
    words: Arc<Words>,
    group: Group,
    closing: CancellationToken,
    ended: CancellationToken,
}

impl StdioLink {
    /// Starts the process and the task that attends it.
    pub(crate) fn start(
        endpoint: &StdioEndpoint,
        around: Surroundings<'_>,
        router: &Arc<Router>,
    ) -> Result<Self, Error> {
        let host = around.host;
        let mut variables = environment::of_child(&host.environment, endpoint);
        let program = environment::locate(endpoint, &mut variables, host.home.as_deref())?;
        let marker = around.guardian.next_marker();
        let mut command = Command::new(program);
        command.args(endpoint.args.iter().map(crate::config::Text::value));
        command.env_clear().envs(&variables).env(MARKER, &marker);
        if let Some(folder) = &endpoint.cwd {
            let path = Path::new(folder.value());
            if !path.is_dir() {
                let reason = "is not a folder".to_owned();
                return Err(Error::File {
                    what: "the working directory",
                    path: path.into(),
                    reason,
                });
            }
            command.current_dir(path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        let failed = |source| Error::Spawn { command: endpoint.command.shown().to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let missing = || failed(std::io::Error::other("its streams are missing"));
        let group = child.id().and_then(|id| Group::led_by(id, marker)).ok_or_else(missing)?;
        around.guardian.add(group.id());
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            group.kill();
            return Err(missing());
        };
        let words = Arc::new(Words::new(Arc::clone(&host.redactor)));
        let link = Self {
            input: Arc::new(Input::new(stdin)),
            words: Arc::clone(&words),
            group: group.clone(),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        let log = host.log_dir.as_deref().map(|folder| Log::open(folder, around.server));
        let attendant = Attendant {
            child,
            stdout: Some(stdout),
            stderr: Some(stderr),
            lines: Lines::default(),
            begun: Joined::default(),
            router: Arc::clone(router),
            words,
            log,
            input: Arc::clone(&link.input),
            closing: link.closing.clone(),
        };
        let (guardian, ended) = (Arc::clone(around.guardian), link.ended.clone());
        around.tasks.spawn(async move {
            let at_least_killed = KillOnDrop(group.clone());
            attendant.run(&group).await;
            guardian.remove(group.id());
            drop(at_least_killed);
            ended.cancel();
        });
        Ok(link)
    }

    /// Queues a message. It fails only if the server has stopped reading altogether.
    pub(crate) fn send(&self, body: &Bytes) -> Result<(), Error> {
        self.input.send(body)
    }

    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    /// Waits until nothing of the server is left.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// What the server said so far, for an error: the end of its standard error, and the first
    /// line on its standard output that was no message.
    pub(crate) fn said(&self) -> (String, Option<String>) {
        self.words.said()
    }

    /// The id of the process group, for tests and status.
    pub(crate) fn group_id(&self) -> i32 {
        self.group.id()
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// If the attending task is dropped with its runtime, the processes still end.
struct KillOnDrop(Group);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// The task of one process.
struct Attendant {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    lines: Lines,
    /// The beginning of a message that a server spreads over several lines.
    begun: Joined,
    router: Arc<Router>,
    words: Arc<Words>,
    log: Option<Log>,
    input: Arc<Input>,
    closing: CancellationToken,
}

impl Attendant {
    async fn run(mut self, group: &Group) {
        let reason = self.listen().await;
        self.input.shut();
        self.router.close(reason);
        // A server that obeys its closed input may finish what it writes.
        let _ = tokio::time::timeout(EXIT_AFTER_CLOSE, self.child.wait()).await;
        group.end().await;
        let _ = tokio::time::timeout(DRAIN, self.child.wait()).await;
        if let Some(log) = &mut self.log {
            log.close(&self.words.said().0, &self.words.redactor);
        }
    }

    async fn listen(&mut self) -> CloseReason {
        let mut errors = Vec::with_capacity(STDERR_READ_BYTES);
        loop {
            tokio::select! {
                // Answers first: somebody waits for them. A flood of them still gives way, because
                // every read takes from the budget of the task.
                biased;
                read = read_more(&mut self.stdout, self.lines.room()) => match read {
                    Some(_) => self.take_lines(),
                    None => return self.after_output().await,
                },
                read = read_more(&mut self.stderr, &mut errors) => {
                    if read.is_some() { self.take_errors(&mut errors) } else { self.stderr = None }
                }
                () = self.closing.cancelled() => return CloseReason::Ours,
                status = self.child.wait() => {
                    self.drain(&mut errors).await;
                    return self.exited(status.ok());
                }
                trouble = self.input.trouble() => match trouble {
                    Trouble::Stuck { queued } => return CloseReason::InputStuck { queued },
                    Trouble::Closed => return self.after_input().await,
                },
            }
        }
    }

    /// The output has ended; the exit usually follows at once.
    async fn after_output(&mut self) -> CloseReason {
        self.take_rest();
        self.stdout = None;
        let mut errors = Vec::new();
        let status = tokio::time::timeout(EXIT_AFTER_EOF, self.child.wait()).await;
        self.drain(&mut errors).await;
        if let Ok(status) = status {
            self.exited(status.ok())
        } else {
            let (stderr, noise) = self.words.said();
            CloseReason::OutputClosed { stderr, noise }
        }
    }

    /// The server no longer takes input; the exit usually follows at once.
    async fn after_input(&mut self) -> CloseReason {
        let status = tokio::time::timeout(EXIT_AFTER_EOF, self.child.wait()).await;
        self.drain(&mut Vec::new()).await;
        match status {
            Ok(status) => self.exited(status.ok()),
            Err(_) => CloseReason::Broken { reason: "the server closed its input".to_owned() },
        }
    }

    /// Reads what a process that has ended left in its pipes. Grandchildren may hold them open.
    async fn drain(&mut self, errors: &mut Vec<u8>) {
        // Each output gets its chance even if somebody holds the other open.
        let output = async {
            while self.stdout.is_some()
                && read_more(&mut self.stdout, self.lines.room()).await.is_some()
            {
                self.take_lines();
            }
        };
        let _ = tokio::time::timeout(DRAIN, output).await;
        self.take_rest();
        let output = async {
            while self.stderr.is_some() && read_more(&mut self.stderr, errors).await.is_some() {
                self.take_errors(errors);
            }
        };
        let _ = tokio::time::timeout(DRAIN, output).await;
    }

    /// What stands without a line end, or was only the beginning of a message.
    fn take_rest(&mut self) {
        if let Some(line) = self.lines.finish() {
            self.take(line);
        }
        self.give_up_begun();
    }

    fn exited(&self, status: Option<ExitStatus>) -> CloseReason {
        let (stderr, noise) = self.words.said();
        CloseReason::Exited { exit: exit_of(status), stderr, noise }
    }

    fn take_lines(&mut self) {
        while let Some(line) = self.lines.next_line() {
            self.take(line);
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Whole(text) => self.take_text(&text),
            Line::TooLong { id: Some(id) } => {
                self.router.settle(id, Err(Error::TooLarge { limit: MAX_LINE_BYTES }));
            }
            // Nobody can be told apart: better to fail one caller than to let it wait.
            Line::TooLong { id: None } => self.router.fail_oldest(message::RpcError::new(
                0,
                format!("a line of more than {MAX_LINE_BYTES} bytes"),
            )),
        }
    }

    /// One line should be one message. A server that prints its JSON prettily spreads it: lines are
    /// joined as long as they are the beginning of a message.
    fn take_text(&mut self, text: &Bytes) {
        // The ordinary case is taken apart once. Within a message that is spread over lines, a line
        // that is a message by itself shows that the rest of it will not come.
        if let Some(message) = message::read_one(text)
            && (self.begun.is_empty() || message.is_whole())
        {
            self.give_up_begun();
            self.router.deliver(message);
            return;
        }
        if self.begun.is_empty() && (text.len() > MAX_JOINED_BYTES || !message::is_beginning(text))
        {
            return self.read(text);
        }
        match self.begun.push(text) {
            Join::Begun => {}
            Join::Whole(joined) | Join::GivenUp(joined) => self.read(&Bytes::from(joined)),
        }
    }

    fn give_up_begun(&mut self) {
        let begun = self.begun.take();
        if !begun.is_empty() {
            self.read(&Bytes::from(begun));
        }
    }

    fn read(&mut self, text: &Bytes) {
        let mut noise = false;
        message::read(text, |message| {
            if message == Incoming::Noise {
                noise = true;
            } else {
                self.router.deliver(message);
            }
        });
        if noise {
            self.words.noise(text);
            if let Some(log) = &mut self.log {
                log.write(b"[standard output] ", &self.words.redactor);
                log.write(text, &self.words.redactor);
                log.write(b"\n", &self.words.redactor);
            }
        }
    }

    fn take_errors(&mut self, errors: &mut Vec<u8>) {
        self.words.stderr(errors);
        if let Some(log) = &mut self.log {
            log.write(errors, &self.words.redactor);
        }
        errors.clear();
    }
}

/// Reads into `room`; `None` at the end of the stream. A stream that is gone is never ready.
async fn read_more<R: AsyncRead + Unpin, B: bytes::BufMut>(
    stream: &mut Option<R>,
    room: &mut B,
) -> Option<usize> {
    match stream {
        Some(stream) => match stream.read_buf(room).await {
            Ok(0) | Err(_) => None,
            Ok(read) => Some(read),
        },
        None => std::future::pending().await,
    }
}

fn exit_of(status: Option<ExitStatus>) -> Exit {
    let Some(status) = status else { return Exit::Unknown };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    status.code().map_or(Exit::Unknown, Exit::Status)
}

/// What a server said outside the protocol.
struct Words {
    redactor: Arc<Redactor>,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    stderr: VecDeque<u8>,
    /// Something before it is gone: its first line may be the end of a secret.
    cut: bool,
    noise: Option<String>,
}

impl Words {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, said: Mutex::default() }
    }

    fn stderr(&self, bytes: &[u8]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &bytes[bytes.len().saturating_sub(MAX_STDERR_TAIL_BYTES)..];
        said.stderr.extend(kept);
        let excess = said.stderr.len().saturating_sub(MAX_STDERR_TAIL_BYTES);
        said.stderr.drain(..excess);
        said.cut |= excess > 0 || kept.len() < bytes.len();
    }

    fn noise(&self, line: &[u8]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.noise.is_none() {
            let line = String::from_utf8_lossy(line);
            said.noise = Some(head(&self.redactor.clean(line.trim()), MAX_NOISE_BYTES));
        }
    }

    fn said(&self) -> (String, Option<String>) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = said.cut;
        let bytes = said.stderr.make_contiguous();
        let start = if cut { memchr::memchr(b'\n', bytes).map_or(0, |at| at + 1) } else { 0 };
        let tail = String::from_utf8_lossy(&bytes[start..]).into_owned();
        (self.redactor.clean(tail.trim_end()).into_owned(), said.noise.clone())
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Words")
    }
}
