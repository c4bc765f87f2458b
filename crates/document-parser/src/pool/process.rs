//! One worker process and its pipes.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Once;
use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::WorkerProgram;
use crate::confine::{self, Confinement, Limits, Memory};
use crate::frame;
use crate::job::{Job, Parsed};
use crate::rejection::Rejection;
use crate::worker;

const MAX_START: Duration = Duration::from_secs(30);
/// Maximum wait for the exit status of a worker that closed its pipe.
const MAX_END: Duration = Duration::from_secs(1);
/// Maximum text of a result, in addition to a multiple of the input.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// Why a worker sent no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerFailure {
    /// The limit on elapsed time or CPU time was reached.
    OutOfTime,
    /// Killed from outside, possibly before it got the job; never by our limits.
    Killed,
    /// Any other exit, or an invalid reply.
    Crashed,
}

/// A worker process, which is killed on drop.
#[derive(Debug)]
pub(super) struct Worker {
    /// `None` only during drop.
    child: Option<Child>,
    input: ChildStdin,
    output: ChildStdout,
    pub(super) confinement: Confinement,
    pub(super) jobs: u32,
    runtime: Handle,
}

impl Worker {
    /// Starts a worker and waits until it is confined.
    pub(super) async fn start(program: &WorkerProgram, limits: &Limits) -> io::Result<Self> {
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .args(worker::arguments(limits))
            .env_clear()
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let ready = timeout(MAX_START, read::<Confinement>(&mut output, 0));
        let (confinement, _) = ready.await??;
        log_confinement(confinement);
        let runtime = Handle::current();
        Ok(Self { child: Some(child), input, output, confinement, jobs: 0, runtime })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Resident memory; 0 if the system does not report it.
    pub(super) fn resident_bytes(&self) -> u64 {
        self.id().and_then(|id| confine::memory(id, Memory::Resident).ok()).unwrap_or_default()
    }

    pub(super) async fn exchange(
        &mut self,
        job: &Job,
        bytes: &[u8],
    ) -> Result<Result<Parsed, Rejection>, WorkerFailure> {
        self.jobs += 1;
        let max_bytes = bytes.len().saturating_mul(4).saturating_add(MAX_RESULT_BYTES);
        let exchanged = async {
            write(&mut self.input, job, bytes).await?;
            read::<Result<Parsed, Rejection>>(&mut self.output, max_bytes).await
        };
        match exchanged.await {
            Ok((Ok(parsed), body)) => {
                parsed.with_body(job, body).map(Ok).ok_or(WorkerFailure::Crashed)
            }
            Ok((Err(rejection), _)) => Ok(Err(rejection)),
            Err(_) => Err(self.failure().await),
        }
    }

    /// The reason why the process ended.
    async fn failure(&mut self) -> WorkerFailure {
        let Some(child) = &mut self.child else { return WorkerFailure::Crashed };
        let status = timeout(MAX_END, child.wait()).await;
        let signal = status.ok().and_then(Result::ok).and_then(|status| status.signal());
        match signal.and_then(Signal::from_named_raw) {
            Some(Signal::XCPU) => WorkerFailure::OutOfTime,
            Some(Signal::KILL) => WorkerFailure::Killed,
            _ => WorkerFailure::Crashed,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // An error means that the process has ended already.
            let _ = child.start_kill();
            self.runtime.spawn(async move { child.wait().await });
        }
    }
}

async fn write(out: &mut ChildStdin, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    out.write_all(&frame::encode(head, body.len())?).await?;
    out.write_all(body).await?;
    out.flush().await
}

async fn read<T: DeserializeOwned>(
    input: &mut ChildStdout,
    max_body_bytes: usize,
) -> io::Result<(T, Vec<u8>)> {
    let mut prefix = [0; frame::PREFIX_BYTES];
    input.read_exact(&mut prefix).await?;
    let (head_bytes, body_bytes) = frame::lengths(prefix, max_body_bytes)?;
    let mut head = vec![0; head_bytes];
    input.read_exact(&mut head).await?;
    let mut body = vec![0; body_bytes];
    input.read_exact(&mut body).await?;
    Ok((serde_json::from_slice(&head)?, body))
}

/// Logs once which measures are in force.
fn log_confinement(confinement: Confinement) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if confinement.is_complete() {
            tracing::debug!(%confinement, "parser workers are confined");
        } else {
            tracing::warn!(%confinement, "parser workers are only partly confined");
        }
    });
}
