//! The table: what was measured, against what, and what was asked for.

use std::fmt::Display;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) bar: f64,
    pub(crate) aim: Option<f64>,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

impl Goal {
    /// At most so many times the other.
    pub(crate) const fn times(bar: f64) -> Self {
        Self { bar, aim: None, unit: "×", better: Better::Lower }
    }

    fn is_met(&self, limit: f64, value: f64) -> bool {
        match self.better {
            Better::Lower => value <= limit,
            Better::Higher => value >= limit,
        }
    }

    fn verdict(&self, value: f64) -> &'static str {
        match self.aim {
            Some(aim) if self.is_met(aim, value) => "aim reached",
            _ if self.is_met(self.bar, value) => "bar reached",
            _ => "**missed**",
        }
    }
}

/// A figure of several rounds: the median, and how far it spread.
#[derive(Debug, Clone)]
pub(crate) struct Spread(Vec<f64>);

impl Spread {
    pub(crate) fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }
}

impl Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [only] => write!(f, "{only:.2}"),
            values => {
                let (low, high) = (values[0], values[values.len() - 1]);
                write!(f, "{:.2} ({low:.2} to {high:.2})", self.median())
            }
        }
    }
}

pub(crate) fn head() {
    println!("| work | ours | against | figure (lowest to highest) | bar | aim | verdict |");
    println!("|---|---|---|---|---|---|---|");
}

/// One line; without a goal it is there for comparison.
pub(crate) fn row(work: &str, ours: &str, against: &str, figure: &Spread, goal: Option<Goal>) {
    let Some(goal) = goal else {
        return println!("| {work} | {ours} | {against} | {figure} | | | |");
    };
    let unit = goal.unit;
    let aim = goal.aim.map(|aim| format!("{aim} {unit}")).unwrap_or_default();
    let verdict = goal.verdict(figure.median());
    println!(
        "| {work} | {ours} | {against} | {figure} {unit} | {} {unit} | {aim} | {verdict} |",
        goal.bar
    );
}
