//! Contenders who take turns, round by round, so that what else the machine does meets all of them.

use std::time::Duration;

use crate::load::{self, Target};
use crate::process::Processes;
use crate::table::Spread;

/// Someone who answers.
#[derive(Clone)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) processes: Processes,
    pub(crate) target: Target,
}

/// What one round of one contender gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Microseconds of the processor for a request.
    pub(crate) cpu_us: f64,
    pub(crate) per_second: f64,
}

/// How long is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) rounds: usize,
    pub(crate) round: Duration,
    /// How many connections ask.
    pub(crate) connections: usize,
}

impl Turns {
    /// Lets the contenders take turns.
    pub(crate) async fn measure(self, all: &[Contender]) -> Vec<Vec<Round>> {
        let Self { rounds, round, connections } = self;
        for contender in all {
            load::closed_loop(&contender.target, connections, round / 4).await;
        }
        let mut measured: Vec<Vec<Round>> = vec![Vec::new(); all.len()];
        for _ in 0..rounds {
            for (contender, measured) in all.iter().zip(&mut measured) {
                let before = contender.processes.cpu();
                let (asked, took) = load::closed_loop(&contender.target, connections, round).await;
                let cpu = contender.processes.cpu().saturating_sub(before);
                let asked = f64::from(asked);
                measured.push(Round {
                    cpu_us: cpu.as_secs_f64() * 1e6 / asked,
                    per_second: asked / took.as_secs_f64(),
                });
            }
        }
        measured
    }
}

pub(crate) fn ratios(ours: &[Round], theirs: &[Round], figure: fn(&Round) -> f64) -> Spread {
    Spread::new(ours.iter().zip(theirs).map(|(ours, theirs)| figure(ours) / figure(theirs)))
}

pub(crate) fn median(rounds: &[Round], figure: fn(&Round) -> f64) -> f64 {
    Spread::new(rounds.iter().map(figure)).median()
}
