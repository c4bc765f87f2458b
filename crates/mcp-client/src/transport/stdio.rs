//! Local servers over their standard streams.
//!
//! One task per process reads both outputs, notices the exit, and terminates the process group in
//! any case. Sending never blocks: what the pipe does not accept at once is queued up to a limit
//! and written by a task that lives as long as the queue.

mod stdin_queue;

use std::collections::VecDeque;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::stdin_queue::StdinQueue;
use super::environment;
use super::line_decoder::{Line, LineDecoder, LineJoiner, MAX_JOINED_BYTES, MAX_LINE_BYTES};
use crate::config::StdioEndpoint;
use crate::error::{Error, ProcessExit, Result, ServerOutput};
use crate::guardian::Guardian;
use crate::host::Host;
use crate::message::{self, Message, truncated};
use crate::process::{OWNER_VARIABLE, ProcessGroup};
use crate::redact::Redactor;
use crate::router::{CloseReason, Router};
use crate::server_log::ServerLog;
use crate::sync::lock;

/// Maximum size of a server's standard error that is kept for errors.
const MAX_STDERR_TAIL_BYTES: usize = 32 * 1024;
const STDERR_READ_BYTES: usize = 4096;
const MAX_NOISE_BYTES: usize = 200;
/// Timeout for the last output of an exited process.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);
/// Timeout for the exit of a process that closed its output.
const EXIT_TIMEOUT_AFTER_EOF: Duration = Duration::from_secs(1);
/// Timeout for the exit of a process whose input is closed.
const EXIT_TIMEOUT_AFTER_CLOSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(crate) struct StdioContext<'a> {
    pub(crate) server: &'a str,
    pub(crate) host: &'a Host,
    pub(crate) guardian: &'a Arc<Guardian>,
    pub(crate) tasks: &'a TaskTracker,
}

pub(crate) struct StdioConnection {
    input: Arc<StdinQueue>,
    output: Arc<OutputTail>,
    group: ProcessGroup,
    closing: CancellationToken,
    ended: CancellationToken,
}

impl StdioConnection {
    pub(crate) fn start(
        endpoint: &StdioEndpoint,
        around: StdioContext<'_>,
        router: &Arc<Router>,
    ) -> Result<Self> {
        let host = around.host;
        let mut variables = environment::child_environment(&host.environment, endpoint);
        let program = environment::resolve_command(endpoint, &mut variables, host.home.as_deref())?;
        let marker = around.guardian.next_marker();
        let mut command = Command::new(program);
        command.args(endpoint.args.iter().map(crate::config::Text::value));
        command.env_clear().envs(&variables).env(OWNER_VARIABLE, &marker);
        if let Some(folder) = &endpoint.cwd {
            let path = Path::new(folder.value());
            if !path.is_dir() {
                let reason = "is not a directory".to_owned();
                return Err(Error::File {
                    what: "the working directory",
                    path: path.into(),
                    reason,
                });
            }
            command.current_dir(path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let failed = |source| Error::Spawn { command: endpoint.command.shown().to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let missing = || failed(std::io::Error::other("no standard streams"));
        let group =
            child.id().and_then(|id| ProcessGroup::led_by(id, marker)).ok_or_else(missing)?;
        around.guardian.add(group.id());
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            group.kill();
            return Err(missing());
        };
        let output = Arc::new(OutputTail::new(Arc::clone(&host.redactor)));
        let connection = Self {
            input: Arc::new(StdinQueue::new(stdin)),
            output: Arc::clone(&output),
            group: group.clone(),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        let log = host.log_dir.as_deref().map(|folder| ServerLog::start(folder, around.server));
        let attendant = ProcessMonitor {
            child,
            stdout: Some(stdout),
            stderr: Some(stderr),
            lines: LineDecoder::default(),
            joiner: LineJoiner::default(),
            router: Arc::clone(router),
            output,
            log,
            input: Arc::clone(&connection.input),
            closing: connection.closing.clone(),
        };
        let (guardian, ended) = (Arc::clone(around.guardian), connection.ended.clone());
        around.tasks.spawn(async move {
            let at_least_killed = KillOnDrop(group.clone());
            attendant.run(&group).await;
            guardian.remove(group.id());
            drop(at_least_killed);
            ended.cancel();
        });
        Ok(connection)
    }

    /// Queues a message. Fails only if the server has stopped reading.
    pub(crate) fn send(&self, body: &Bytes) -> Result<()> {
        self.input.send(body)
    }

    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub(crate) fn output_tail(&self) -> ServerOutput {
        self.output.tail()
    }

    pub(crate) fn group_id(&self) -> i32 {
        self.group.id()
    }
}

impl Drop for StdioConnection {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// Kills the processes if the task is dropped with its runtime.
struct KillOnDrop(ProcessGroup);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}

struct ProcessMonitor {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    lines: LineDecoder,
    /// The start of a message that spans several lines.
    joiner: LineJoiner,
    router: Arc<Router>,
    output: Arc<OutputTail>,
    log: Option<ServerLog>,
    input: Arc<StdinQueue>,
    closing: CancellationToken,
}

impl ProcessMonitor {
    async fn run(mut self, group: &ProcessGroup) {
        let reason = self.listen().await;
        self.input.close();
        self.router.close(reason);
        // A server that obeys the end of its input may finish writing.
        let _ = tokio::time::timeout(EXIT_TIMEOUT_AFTER_CLOSE, self.child.wait()).await;
        group.terminate().await;
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, self.child.wait()).await;
        if let Some(log) = &mut self.log {
            log.close(&self.output.tail().stderr, &self.output.redactor);
        }
    }

    async fn listen(&mut self) -> CloseReason {
        let mut errors = Vec::with_capacity(STDERR_READ_BYTES);
        loop {
            tokio::select! {
                // Responses first, since callers wait for them. A flood still yields, because every
                // read uses the task's budget.
                biased;
                read = read_more(&mut self.stdout, self.lines.read_buffer()) => match read {
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
                failure = self.input.failed() => match failure {
                    Some(reason) => return reason,
                    None => return self.after_input().await,
                },
            }
        }
    }

    /// The output has ended; the exit usually follows at once.
    async fn after_output(&mut self) -> CloseReason {
        self.take_rest();
        self.stdout = None;
        let exited = self.wait_for_exit().await;
        exited.unwrap_or_else(|| CloseReason::OutputClosed { output: self.output.tail() })
    }

    /// The input is closed; the exit usually follows at once.
    async fn after_input(&mut self) -> CloseReason {
        let reason = "the server closed its input".to_owned();
        self.wait_for_exit().await.unwrap_or(CloseReason::Broken { reason })
    }

    async fn wait_for_exit(&mut self) -> Option<CloseReason> {
        let status = tokio::time::timeout(EXIT_TIMEOUT_AFTER_EOF, self.child.wait()).await;
        self.drain(&mut Vec::new()).await;
        status.ok().map(|status| self.exited(status.ok()))
    }

    /// Reads what an exited process left in its pipes. Grandchildren may hold them open.
    async fn drain(&mut self, errors: &mut Vec<u8>) {
        // Each output is drained even if the other is held open.
        let output = async {
            while self.stdout.is_some()
                && read_more(&mut self.stdout, self.lines.read_buffer()).await.is_some()
            {
                self.take_lines();
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, output).await;
        self.take_rest();
        let output = async {
            while self.stderr.is_some() && read_more(&mut self.stderr, errors).await.is_some() {
                self.take_errors(errors);
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, output).await;
    }

    /// Handles an unterminated line and an incomplete message.
    fn take_rest(&mut self) {
        if let Some(line) = self.lines.finish() {
            self.take(line);
        }
        self.abandon_partial();
    }

    fn exited(&self, status: Option<ExitStatus>) -> CloseReason {
        CloseReason::Exited { exit: exit_of(status), output: self.output.tail() }
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
            // Its caller is unknown: it is better to fail one than to let it wait.
            Line::TooLong { id: None } => self.router.fail_oldest(message::RpcError::new(
                0,
                format!("line longer than {MAX_LINE_BYTES} bytes"),
            )),
        }
    }

    /// Handles one line, which should be one message. Pretty-printed JSON spans several lines,
    /// which are joined.
    fn take_text(&mut self, text: &Bytes) {
        // The usual case is parsed once. Inside a spanning message, a line that is complete by
        // itself proves that the rest is missing.
        if let Some(message) = message::parse_single(text)
            && (self.joiner.is_empty() || message.is_complete())
        {
            self.abandon_partial();
            self.router.deliver(message);
            return;
        }
        if self.joiner.is_empty()
            && (text.len() > MAX_JOINED_BYTES || !message::is_incomplete(text))
        {
            return self.read(text);
        }
        if let Some(joined) = self.joiner.push(text) {
            self.read(&Bytes::from(joined));
        }
    }

    fn abandon_partial(&mut self) {
        let joiner = self.joiner.take();
        if !joiner.is_empty() {
            self.read(&Bytes::from(joiner));
        }
    }

    fn read(&mut self, text: &Bytes) {
        let mut noise = false;
        message::parse(text, |message| {
            if message == Message::Noise {
                noise = true;
            } else {
                self.router.deliver(message);
            }
        });
        if noise {
            self.output.noise(text);
            if let Some(log) = &mut self.log {
                let line = [b"[standard output] ", &text[..], b"\n"].concat();
                log.write(&line, &self.output.redactor);
            }
        }
    }

    fn take_errors(&mut self, errors: &mut Vec<u8>) {
        self.output.stderr(errors);
        if let Some(log) = &mut self.log {
            log.write(errors, &self.output.redactor);
        }
        errors.clear();
    }
}

/// `None` at the end of the stream. A closed stream is never ready.
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

fn exit_of(status: Option<ExitStatus>) -> ProcessExit {
    let Some(status) = status else { return ProcessExit::Unknown };
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ProcessExit::Signal(signal);
    }
    status.code().map_or(ProcessExit::Unknown, ProcessExit::Status)
}

struct OutputTail {
    redactor: Arc<Redactor>,
    state: Mutex<TailState>,
}

#[derive(Default)]
struct TailState {
    stderr: VecDeque<u8>,
    /// Earlier output was dropped: the first line may be the end of a secret.
    cut: bool,
    noise: Option<String>,
}

impl OutputTail {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, state: Mutex::default() }
    }

    fn stderr(&self, bytes: &[u8]) {
        let mut state = lock(&self.state);
        let kept = &bytes[bytes.len().saturating_sub(MAX_STDERR_TAIL_BYTES)..];
        state.stderr.extend(kept);
        let excess = state.stderr.len().saturating_sub(MAX_STDERR_TAIL_BYTES);
        state.stderr.drain(..excess);
        state.cut |= excess > 0 || kept.len() < bytes.len();
    }

    fn noise(&self, line: &[u8]) {
        let mut state = lock(&self.state);
        if state.noise.is_none() {
            let line = String::from_utf8_lossy(line);
            state.noise = Some(truncated(&self.redactor.redact(line.trim()), MAX_NOISE_BYTES));
        }
    }

    fn tail(&self) -> ServerOutput {
        let mut state = lock(&self.state);
        let cut = state.cut;
        let bytes = state.stderr.make_contiguous();
        let start = if cut { memchr::memchr(b'\n', bytes).map_or(0, |at| at + 1) } else { 0 };
        let tail = String::from_utf8_lossy(&bytes[start..]).into_owned();
        let stderr = self.redactor.redact(tail.trim_end()).into_owned();
        ServerOutput { stderr, noise: state.noise.clone() }
    }
}
