//! Runs the work of a command that waits for others. A signal ends it.

use tokio::runtime::Runtime;

use crate::diagnostic::Diagnostic;
use crate::signals::Signals;

/// What runs the work of one command, on its own thread.
pub(crate) fn started() -> Result<Runtime, Diagnostic> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Diagnostic::failed("cannot start the runtime").because(&error))
}

/// Does the work; Ctrl-C and its kin drop it and end the command.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, Diagnostic>>,
) -> Result<T, Diagnostic> {
    let runtime = started()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::listen();
        tokio::select! {
            done = work => done,
            exit = signals.next() => Err(Diagnostic::interrupted(exit)),
        }
    });
    runtime.shutdown_background();
    done
}
