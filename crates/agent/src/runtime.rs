//! Runs the asynchronous work of a command, and handles the signals that end it.

use std::future::poll_fn;
use std::task::Poll;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};

/// The runtime of one command, on the current thread.
pub(crate) fn started() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .or_failed("cannot start the runtime")
}

/// Runs the work of a command, and does not wait for tasks that it started.
pub(crate) fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = started()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Runs the work; Ctrl-C and similar signals drop it and end the command.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    run(async {
        let mut signals = Signals::listen();
        signals.drop_on_signal(work).await
    })
}

/// Waits for signals, which no longer end the process once this exists.
#[derive(Debug)]
pub(crate) struct Signals(Vec<(Signal, Exit)>);

impl Signals {
    pub(crate) fn listen() -> Self {
        let kinds = [
            (SignalKind::interrupt(), Exit::Interrupted),
            (SignalKind::hangup(), Exit::HungUp),
            (SignalKind::quit(), Exit::Quit),
            (SignalKind::terminate(), Exit::Terminated),
        ];
        // `nohup` ignores the signal; keep that.
        let wanted = kinds
            .into_iter()
            .filter(|(kind, exit)| *exit == Exit::Interrupted || !is_ignored(kind.as_raw_value()));
        Self(wanted.filter_map(|(kind, exit)| Some((signal(kind).ok()?, exit))).collect())
    }

    /// Runs the work; a signal drops it.
    pub(crate) async fn drop_on_signal<T>(
        &mut self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            done = work => done,
            exit = self.next() => Err(Diagnostic::interrupted(exit)),
        }
    }

    pub(crate) async fn next(&mut self) -> Exit {
        poll_fn(|context| {
            let mut all = self.0.iter_mut();
            let came = all
                .find_map(|(signal, exit)| signal.poll_recv(context).is_ready().then_some(*exit));
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Whether this process was started with the signal ignored, if that can be determined.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores(&status, signal)
}

fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    bit.is_some_and(|bit| mask & bit != 0)
}

#[derive(Debug, Clone, Default)]
pub(crate) struct StopSignal {
    /// The task ends at once.
    pub(crate) now: CancellationToken,
    pub(crate) is_ending: CancellationToken,
}

impl Signals {
    /// Runs the work, which must end soon after the stop signal.
    pub(crate) async fn stop_on_signal<T>(
        &mut self,
        work: impl AsyncFnOnce(StopSignal) -> T,
    ) -> Result<T> {
        let stop = StopSignal::default();
        let work = work(stop.clone());
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                exit = self.next() => {
                    if stop.now.is_cancelled() {
                        return Err(Diagnostic::interrupted(exit));
                    }
                    if exit != Exit::Interrupted {
                        stop.is_ending.cancel();
                    }
                    stop.now.cancel();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
