//! Signals while a task runs: the first one ends the task in good order, the second one does not
//! wait for that.

use tokio_util::sync::CancellationToken;

use crate::diagnostic::{Diagnostic, Exit};
use crate::runtime::Signals;

#[derive(Debug)]
pub(crate) struct Interrupts {
    signals: Signals,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct StopSignal {
    /// The task ends at once.
    pub(crate) now: CancellationToken,
    pub(crate) is_ending: CancellationToken,
}

impl Interrupts {
    pub(crate) fn listen() -> Self {
        Self { signals: Signals::listen() }
    }

    /// The next signal, while nothing runs that it could end.
    pub(crate) async fn next(&mut self) -> Exit {
        self.signals.next().await
    }

    /// Runs the work, which must end soon after the stop signal.
    pub(crate) async fn guard<T>(
        &mut self,
        work: impl AsyncFnOnce(StopSignal) -> T,
    ) -> Result<T, Diagnostic> {
        let stop = StopSignal::default();
        let work = work(stop.clone());
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                exit = self.signals.next() => {
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
