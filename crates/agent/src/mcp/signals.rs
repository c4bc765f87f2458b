//! The signals that ask a command to end, each with the exit code it leads to.
//!
//! Whoever is asked this way can put the terminal back as it was and end what was started.

use crate::diagnostic::Exit;

/// Waits for signals. From its making on none of them ends the process by itself.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    quit: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let of = |kind: SignalKind| {
            // Whoever started us with `nohup` wants the signal to pass.
            let is_wanted = !is_ignored(kind.as_raw_value());
            is_wanted.then(|| signal(kind).ok()).flatten()
        };
        Self {
            hangup: of(SignalKind::hangup()),
            quit: of(SignalKind::quit()),
            terminate: of(SignalKind::terminate()),
        }
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Exit {
        let Self { hangup, quit, terminate } = self;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Exit::Interrupted,
            () = of(hangup) => Exit::HungUp,
            () = of(quit) => Exit::Quit,
            () = of(terminate) => Exit::Terminated,
        }
    }
}

#[cfg(unix)]
async fn of(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with the signal ignored, where that can be found out.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores(&status, signal)
}

#[cfg(unix)]
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    bit.is_some_and(|bit| mask & bit != 0)
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> Self {
        Self {}
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Exit {
        let _ = tokio::signal::ctrl_c().await;
        Exit::Interrupted
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_starter_ignores_is_read_from_its_mask() {
        let status = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n";
        assert!(ignores(status, 1) && ignores(status, 13));
        assert!(!ignores(status, 15) && !ignores(status, 3));
        assert!(!ignores("", 1) && !ignores("SigIgn:\tx", 1) && !ignores(status, 0));
    }
}
