//! What is called, how often, and what came of it.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::contender::Contender;

/// Calls before anything is measured, for each hundred that are.
const WARM_UP_PERCENT: usize = 20;

/// One kind of call.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// What must come back.
    pub(crate) expected: String,
    pub(crate) calls: usize,
    pub(crate) rounds: usize,
}

impl Work {
    pub(crate) fn echo(calls: usize, rounds: usize) -> Self {
        let expected = "The quick brown fox jumps over the lazy dog, 42 times.".to_owned();
        let arguments = json!({ "text": expected });
        Self { tool: "echo", arguments, expected, calls, rounds }
    }

    pub(crate) fn blob(bytes: usize, calls: usize, rounds: usize) -> Self {
        let arguments = json!({ "bytes": bytes });
        Self { tool: "blob", arguments, expected: "x".repeat(bytes), calls, rounds }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expected.len() {
            0..1000 => f.write_str("a short `tools/call`"),
            long => write!(f, "a result of {} kB", long / 1000),
        }
    }
}

/// The times of one client.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Of each round, its calls in order of time.
    rounds: Vec<Vec<Duration>>,
}

impl Measured {
    /// The median over the rounds of the median call.
    pub(crate) fn median(&self) -> Duration {
        let mut medians: Vec<Duration> = self.rounds.iter().map(|round| middle(round)).collect();
        medians.sort_unstable();
        middle(&medians)
    }

    /// How many times as long as ours theirs took, round by round, in order.
    pub(crate) fn ratios(&self, theirs: &Self) -> Vec<f64> {
        let pairs = self.rounds.iter().zip(&theirs.rounds);
        let mut ratios: Vec<f64> = pairs
            .map(|(ours, theirs)| middle(theirs).as_secs_f64() / middle(ours).as_secs_f64())
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios
    }

    pub(crate) fn slower_than(&self, limit: Duration) -> usize {
        self.rounds.iter().flatten().filter(|call| **call > limit).count()
    }
}

fn middle(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() / 2]
}

/// Lets the clients take turns.
pub(crate) async fn measure(all: &mut [Contender], work: &Work) -> Vec<Measured> {
    for contender in &mut *all {
        contender.round(work, work.calls * WARM_UP_PERCENT / 100).await;
    }
    let mut measured: Vec<Measured> = all.iter().map(|_| Measured::default()).collect();
    for _ in 0..work.rounds {
        for (contender, measured) in all.iter_mut().zip(&mut measured) {
            let mut times = contender.round(work, work.calls).await;
            times.sort_unstable();
            measured.rounds.push(times);
        }
    }
    measured
}
