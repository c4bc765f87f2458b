//! Warnings with stable codes about valid packages that are likely wrong.
//!
//! Such a package was written by a faulty producer, or by one that differs where the
//! specification is silent.

use std::collections::HashMap;

use serde::Serialize;

use crate::catalogue::{
    Cell, CountBucket, EndReason, Kind, PostPatchState, Provenance, ReuseState, SkillLoad,
    TaskOutcome, Termination,
};
use crate::mapping::skill;
use crate::mapping::task::TaskEnding;
use crate::package::{Counter, Package};
use crate::validate::{DAY_SECONDS, EntryPositions, parse_date_time};

/// The subject of a warning. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Code {
    /// `period_end` is not after `period_start`.
    L001,
    /// `generated_at` is before `period_start`.
    L002,
    /// The period is not one UTC day.
    L003,
    /// Two entries have the same name and dimensions.
    L004,
    /// Outcome, end reason and termination of a task contradict each other.
    L005,
    /// The dimensions of a skill load contradict each other.
    L006,
}

impl Code {
    pub const ALL: &'static [Code] =
        &[Code::L001, Code::L002, Code::L003, Code::L004, Code::L005, Code::L006];

    pub const fn text(self) -> &'static str {
        match self {
            Code::L001 => "L001",
            Code::L002 => "L002",
            Code::L003 => "L003",
            Code::L004 => "L004",
            Code::L005 => "L005",
            Code::L006 => "L006",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub code: Code,
    /// JSON pointer to the value.
    pub pointer: String,
    /// Line in the document, from 1.
    pub line: usize,
    /// Column in the line, in characters, from 1.
    pub column: usize,
    pub message: String,
}

/// Checks a package. The document must be the one that the package was read from.
pub fn lint(document: &[u8], package: &Package) -> Vec<Warning> {
    let mut found = Vec::new();
    periods(package, &mut found);
    duplicates(package, &mut found);
    for (index, metric) in package.metrics.iter().enumerate() {
        if let Counter::Cell(cell) = metric.counter {
            coherence(index, cell, &mut found);
        }
    }
    place(document, found)
}

enum Location {
    Field(&'static str),
    Entry(usize),
}

type LintFinding = (Code, Location, String);

fn periods(package: &Package, found: &mut Vec<LintFinding>) {
    let moments = (
        parse_date_time(&package.period_start),
        parse_date_time(&package.period_end),
        parse_date_time(&package.generated_at),
    );
    let (Some(start), Some(end), Some(generated)) = moments else { return };
    let (start_text, end_text) = (&package.period_start, &package.period_end);
    if end <= start {
        let message = format!("the period ends at {end_text}, not after its start at {start_text}");
        found.push((Code::L001, Location::Field("period_end"), message));
    } else {
        let midnight = start.seconds.rem_euclid(DAY_SECONDS) == 0 && start.fraction.is_empty();
        let one_day = end.seconds - start.seconds == DAY_SECONDS && end.fraction.is_empty();
        if !(midnight && one_day) {
            let message = format!("the period from {start_text} to {end_text} is not one UTC day");
            found.push((Code::L003, Location::Field("period_start"), message));
        }
    }
    if generated < start {
        let message = format!(
            "generated at {}, before the period starts at {start_text}",
            package.generated_at
        );
        found.push((Code::L002, Location::Field("generated_at"), message));
    }
}

fn duplicates(package: &Package, found: &mut Vec<LintFinding>) {
    let mut first_at = HashMap::with_capacity(package.metrics.len());
    for (index, metric) in package.metrics.iter().enumerate() {
        if let Some(first) = first_at.get(&metric.counter) {
            let name = metric.counter.kind().name();
            let message = format!(
                "{name} has the same dimensions as /metrics/{first}; readers must add the values"
            );
            found.push((Code::L004, Location::Entry(index), message));
        } else {
            first_at.insert(&metric.counter, index);
        }
    }
}

fn coherence(index: usize, cell: Cell, found: &mut Vec<LintFinding>) {
    let values = cell.values();
    let value = |key: &str| {
        let at = cell.kind().spec().keys.iter().position(|known| *known == key)?;
        values.get(at).copied()
    };
    match cell.kind() {
        Kind::TaskFinished => {
            let parts = (
                value("outcome").and_then(TaskOutcome::parse),
                value("end_reason").and_then(EndReason::parse),
                value("termination").and_then(Termination::parse),
            );
            let (Some(outcome), Some(reason), Some(termination)) = parts else { return };
            if !TaskEnding::is_legal(outcome, reason, termination) {
                let right = TaskEnding::of(reason);
                let message = format!(
                    "end_reason {reason} requires outcome {} and termination {}, found {outcome} \
                     and {termination}",
                    right.outcome, right.termination
                );
                found.push((Code::L005, Location::Entry(index), message));
            }
        }
        Kind::SkillLoad => {
            let parts = (
                value("post_patch_state").and_then(PostPatchState::parse),
                value("provenance").and_then(Provenance::parse),
                value("reuse_state").and_then(ReuseState::parse),
                value("use_count_bucket").and_then(CountBucket::parse),
            );
            let (Some(post_patch_state), Some(provenance), Some(reuse_state), Some(bucket)) = parts
            else {
                return;
            };
            let use_count_bucket = bucket;
            let load = SkillLoad { post_patch_state, provenance, reuse_state, use_count_bucket };
            if !skill::is_coherent(&load) {
                let message = format!(
                    "{reuse_state} is inconsistent with {post_patch_state} and a use count of \
                     {bucket}: a first use has count 1 and no earlier patch, a reuse has at least \
                     count 2"
                );
                found.push((Code::L006, Location::Entry(index), message));
            }
        }
        _ => {}
    }
}

fn place(document: &[u8], found: Vec<LintFinding>) -> Vec<Warning> {
    if found.is_empty() {
        return Vec::new();
    }
    let places = EntryPositions::find(document);
    let mut warnings: Vec<Warning> = found
        .into_iter()
        .map(|(code, place, message)| {
            let (pointer, (line, column)) = match place {
                Location::Field(key) => (format!("/{key}"), places.field(key)),
                Location::Entry(index) => (format!("/metrics/{index}"), places.entry(index)),
            };
            Warning { code, pointer, line, column, message }
        })
        .collect();
    warnings.sort_by_key(|warning| (warning.line, warning.column, warning.code));
    warnings
}
