//! Inspects many documents in parallel, for `validate` and `lint`.
//!
//! Each core takes the next source; reports are printed in the order of the sources. Channels
//! bound the sources and reports that are ahead of the output.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use serde::Serialize;
use task_loop::untrusted::printable;
use usage_metrics::lint::{Warning, lint};
use usage_metrics::package::Package;
use usage_metrics::validate::{MAX_VIOLATIONS, Violation, validate_with};

use crate::diagnostic::{Diagnostic, Result};
use crate::documents::{DEFAULT_MAX_BYTES, Document, DocumentSplit, Source, sources};
use crate::output::{ERROR, WARNING};
use crate::session::Session;
use crate::table::counted;

/// Maximum reports per batch.
const MAX_HELD: usize = 256;

/// Maximum sources inspected ahead of the printed one.
const MAX_AHEAD: usize = 256;

/// Maximum batches of a source that wait for output.
const MAX_PARCELS: usize = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct Inspection {
    /// Files, folders, or `-` for stdin [default: -]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Treat every line as a document
    #[arg(long)]
    ndjson: bool,
    /// Maximum size of an uncompressed document
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MAX_BYTES)]
    max_bytes: u64,
    /// Maximum number of described errors per document
    #[arg(long, value_name = "COUNT", default_value_t = MAX_VIOLATIONS)]
    max_errors: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Validate,
    Lint,
    LintStrictly,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    source: String,
    /// Line where the document begins; only if a source has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    valid: bool,
    entries: u64,
    violation_count: u64,
    violations: Vec<Violation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<Warning>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    documents: u64,
    valid: u64,
    invalid: u64,
    unreadable: u64,
    violations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<u64>,
}

type LoadedSource = Result<Source, (PathBuf, io::Error)>;

type Batches = mpsc::SyncSender<Vec<Report>>;

pub(super) fn inspect(inspection: &Inspection, question: Question, session: &Session) -> Result {
    let sources = sources(&inspection.paths);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = session.output.progress(sources.len() as u64, "files");
    let mut summary =
        Summary { warnings: (question != Question::Validate).then_some(0), ..Summary::default() };
    let told: Result = std::thread::scope(|scope| {
        let (give, work) = mpsc::sync_channel(MAX_AHEAD);
        let (order, turns) = mpsc::sync_channel(MAX_AHEAD);
        let work = Arc::new(Mutex::new(work));
        for _ in 0..threads.min(sources.len()) {
            let work = work.clone();
            scope.spawn(move || judge_sources(&work, inspection, question));
        }
        // Only the threads may receive: after their exit nothing more is sent.
        drop(work);
        let sources = &sources;
        scope.spawn(move || {
            for source in sources {
                let (send, receive) = mpsc::sync_channel(MAX_PARCELS);
                if order.send(receive).is_err() || give.send((source, send)).is_err() {
                    return;
                }
            }
        });
        // If printing fails, the channels are dropped, and all threads end.
        for reports in turns {
            for report in reports.into_iter().flatten() {
                summary.add(&report);
                progress.suspend(|| print_report(&report, session))?;
            }
            progress.inc(1);
        }
        Ok(())
    });
    progress.finish_and_clear();
    told?;
    conclude(&summary, question, session)
}

/// Inspects sources until none are left, or the receiver of the reports is gone.
fn judge_sources(
    work: &Mutex<mpsc::Receiver<(&LoadedSource, Batches)>>,
    inspection: &Inspection,
    question: Question,
) {
    let mut buffer = Vec::new();
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok((source, send)) = next() {
        let mut held = Vec::new();
        let mut is_heard = true;
        judge_source(source, inspection, question, &mut buffer, |report| {
            held.push(report);
            if held.len() >= MAX_HELD {
                is_heard = is_heard && send.send(std::mem::take(&mut held)).is_ok();
                held.clear();
            }
        });
        if !is_heard || send.send(held).is_err() {
            return;
        }
    }
}

fn judge_source(
    source: &LoadedSource,
    inspection: &Inspection,
    question: Question,
    buffer: &mut Vec<u8>,
    mut found: impl FnMut(Report),
) {
    let source = match source {
        Ok(source) => source,
        Err((path, error)) => return found(unreadable(path.display().to_string(), None, error)),
    };
    let cut = if inspection.ndjson { DocumentSplit::Lines } else { DocumentSplit::ByName };
    let line = |first_line| source.is_lines(cut).then_some(first_line);
    let read = source.read(cut, inspection.max_bytes, buffer, |piece| {
        found(match piece {
            Ok(document) => Report {
                line: line(document.first_line),
                ..judge(source, document, inspection.max_errors, question)
            },
            Err(oversized) => unreadable(source.name(), line(oversized.first_line), &oversized),
        });
    });
    if let Err(error) = read {
        found(unreadable(source.name(), None, &error));
    }
}

fn judge(source: &Source, document: Document<'_>, max_errors: usize, question: Question) -> Report {
    let mut verdict = validate_with(document.bytes, max_errors);
    let lines_before = document.first_line - 1;
    for violation in &mut verdict.violations {
        violation.line += lines_before;
    }
    let mut unreadable = None;
    let mut warnings = (question != Question::Validate).then(Vec::new);
    if let Some(warnings) = warnings.as_mut().filter(|_| verdict.is_valid()) {
        match Package::read_clamped(document.bytes) {
            Ok(package) => *warnings = lint(document.bytes, &package),
            Err(error) => unreadable = Some(error.to_string()),
        }
        for warning in warnings {
            warning.line += lines_before;
        }
    }
    Report {
        source: source.name(),
        line: None,
        valid: verdict.is_valid(),
        entries: verdict.entries,
        violation_count: verdict.total,
        violations: verdict.violations,
        warnings,
        unreadable,
    }
}

fn unreadable(source: String, line: Option<usize>, error: &dyn std::error::Error) -> Report {
    Report { source, line, unreadable: Some(error.to_string()), ..Report::default() }
}

impl Summary {
    fn add(&mut self, report: &Report) {
        self.documents += 1;
        if report.unreadable.is_some() {
            self.unreadable += 1;
        } else if report.valid {
            self.valid += 1;
        } else {
            self.invalid += 1;
        }
        self.violations += report.violation_count;
        if let (Some(total), Some(warnings)) = (&mut self.warnings, &report.warnings) {
            *total += warnings.len() as u64;
        }
    }
}

fn print_report(report: &Report, session: &Session) -> Result {
    if session.output.is_json() {
        return session.output.json_line(report);
    }
    let source = &printable(&report.source);
    if let Some(reason) = &report.unreadable {
        let line = report.line.map(|line| format!(":{line}")).unwrap_or_default();
        session.output.text(format!("{source}{line}: {ERROR}cannot read{ERROR:#}: {reason}\n"))?;
    }
    let mut lines = String::new();
    for violation in &report.violations {
        let Violation { line, column, code, pointer, .. } = violation;
        let code = code.text();
        // A problem of the whole document has no pointer.
        let place =
            if pointer.is_empty() { String::new() } else { format!("{}: ", printable(pointer)) };
        lines.push_str(&format!(
            "{source}:{line}:{column}: {ERROR}error[{code}]{ERROR:#} {place}{violation}\n"
        ));
    }
    let untold = report.violation_count - report.violations.len() as u64;
    if untold > 0 {
        lines.push_str(&format!("{source}: {untold} more errors; show more with --max-errors\n"));
    }
    for warning in report.warnings.iter().flatten() {
        let Warning { line, column, code, pointer, message } = warning;
        let code = code.text();
        lines.push_str(&format!(
            "{source}:{line}:{column}: {WARNING}warning[{code}]{WARNING:#} {pointer}: {message}\n"
        ));
    }
    if report.valid {
        session.output.detail(format!("{source}: valid, {} entries", report.entries));
    }
    if lines.is_empty() { Ok(()) } else { session.output.text(lines) }
}

fn conclude(summary: &Summary, question: Question, session: &Session) -> Result {
    if session.output.is_json() {
        session.output.json_line(&serde_json::json!({ "summary": summary }))?;
    } else {
        session.output.note(sentence(summary));
    }
    let warned = question == Question::LintStrictly && summary.warnings > Some(0);
    if summary.invalid > 0 || summary.unreadable > 0 || warned {
        Err(Diagnostic::already_reported())
    } else {
        Ok(())
    }
}

fn sentence(summary: &Summary) -> String {
    let count = |count: u64, noun: &str| counted(usize::try_from(count).unwrap_or(0), noun);
    let mut text = format!("{}: {} valid", count(summary.documents, "document"), summary.valid);
    if summary.invalid > 0 {
        let violations = count(summary.violations, "error");
        text.push_str(&format!(", {} invalid ({violations})", summary.invalid));
    }
    if summary.unreadable > 0 {
        text.push_str(&format!(", {} unreadable", summary.unreadable));
    }
    if let Some(warnings) = summary.warnings {
        text.push_str(&format!(", {}", count(warnings, "warning")));
    }
    text
}
