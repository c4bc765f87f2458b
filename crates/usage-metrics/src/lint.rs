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
use crate::validate::{DAY_SECONDS, parse_date_time, positions};

crate::text_enum::text_enum! {
    /// The subject of a warning. The codes are stable.
    pub enum Code {
        /// `period_end` is not after `period_start`.
        L001 = "L001",
        /// `generated_at` is before `period_start`.
        L002 = "L002",
        /// The period is not one UTC day.
        L003 = "L003",
        /// Two entries have the same name and dimensions.
        L004 = "L004",
        /// Outcome, end reason and termination of a task contradict each other.
        L005 = "L005",
        /// The dimensions of a skill load contradict each other.
        L006 = "L006",
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
        if let Counter::Cell(cell) = metric.counter
            && let Some((code, message)) = contradiction(cell)
        {
            found.push((code, entry(index), message));
        }
    }
    add_positions(document, found)
}

/// Code, JSON pointer and message of a warning.
type LintFinding = (Code, String, String);

fn entry(index: usize) -> String {
    format!("/metrics/{index}")
}

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
        found.push((Code::L001, "/period_end".to_owned(), message));
    } else {
        let midnight = start.seconds.rem_euclid(DAY_SECONDS) == 0 && start.fraction.is_empty();
        let one_day = end.seconds - start.seconds == DAY_SECONDS && end.fraction.is_empty();
        if !(midnight && one_day) {
            let message = format!("the period from {start_text} to {end_text} is not one UTC day");
            found.push((Code::L003, "/period_start".to_owned(), message));
        }
    }
    if generated < start {
        let message = format!(
            "generated at {}, before the period starts at {start_text}",
            package.generated_at
        );
        found.push((Code::L002, "/generated_at".to_owned(), message));
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
            found.push((Code::L004, entry(index), message));
        } else {
            first_at.insert(&metric.counter, index);
        }
    }
}

/// The warning about dimensions that contradict each other.
fn contradiction(cell: Cell) -> Option<(Code, String)> {
    let (keys, values) = (cell.kind().spec().keys, cell.values());
    let value = |key: &str| values.get(keys.iter().position(|known| *known == key)?).copied();
    match cell.kind() {
        Kind::TaskFinished => {
            let outcome = TaskOutcome::parse(value("outcome")?)?;
            let reason = EndReason::parse(value("end_reason")?)?;
            let termination = Termination::parse(value("termination")?)?;
            let required = TaskEnding::of(reason);
            let message = format!(
                "end_reason {reason} requires outcome {} and termination {}, found {outcome} and \
                 {termination}",
                required.outcome, required.termination
            );
            let is_legal = TaskEnding::is_legal(outcome, reason, termination);
            (!is_legal).then_some((Code::L005, message))
        }
        Kind::SkillLoad => {
            let load = SkillLoad {
                post_patch_state: PostPatchState::parse(value("post_patch_state")?)?,
                provenance: Provenance::parse(value("provenance")?)?,
                reuse_state: ReuseState::parse(value("reuse_state")?)?,
                use_count_bucket: CountBucket::parse(value("use_count_bucket")?)?,
            };
            let message = format!(
                "{} is inconsistent with {} and a use count of {}: a first use has count 1 and no \
                 earlier patch, a reuse has at least count 2",
                load.reuse_state, load.post_patch_state, load.use_count_bucket
            );
            (!skill::is_coherent(&load)).then_some((Code::L006, message))
        }
        _ => None,
    }
}

fn add_positions(document: &[u8], found: Vec<LintFinding>) -> Vec<Warning> {
    if found.is_empty() {
        return Vec::new();
    }
    let positions = positions(document);
    let warning = |(code, pointer, message): LintFinding| {
        let (line, column) = positions.get(&pointer).copied().unwrap_or((1, 1));
        Warning { code, pointer, line, column, message }
    };
    let mut warnings: Vec<Warning> = found.into_iter().map(warning).collect();
    warnings.sort_by_key(|warning| (warning.line, warning.column, warning.code));
    warnings
}
