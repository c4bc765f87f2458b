//! Judges many documents at once: what `validate` and `lint` share.
//!
//! Every core takes the next source from one list; the reports come out in the order of the list.
//! A core that is far ahead waits for its turn, so that only a bounded number of reports is held.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};

use serde::Serialize;
use task_loop::untrusted::printable;
use usage_metrics::lint::{Warning, lint};
use usage_metrics::package::Package;
use usage_metrics::validate::{MAX_VIOLATIONS, Violation, validate_with};

use crate::diagnostic::Diagnostic;
use crate::documents::{DEFAULT_MAX_BYTES, Document, DocumentSplit, Source, sources};
use crate::output::{ERROR, WARNING};
use crate::session::Session;

/// Reports of one source that are held until its turn comes.
const MAX_HELD: usize = 256;

/// Sources that may be judged ahead of the one whose turn it is.
const MAX_AHEAD: usize = 256;

/// Batches that wait to be printed.
const MAX_PARCELS: usize = 16;

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

#[derive(Debug, Serialize)]
struct Report {
    source: String,
    /// Line of the source the document begins on; only where a source has several.
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

/// Reports of one source that wait to be printed.
struct ReportBatch {
    at: usize,
    reports: Vec<Report>,
    last: bool,
}

pub(super) fn inspect(
    inspection: &Inspection,
    question: Question,
    session: &Session,
) -> Result<(), Diagnostic> {
    let queue = Queue::new(sources(&inspection.paths));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = session.output.progress(queue.sources.len() as u64, "files");
    let mut summary =
        Summary { warnings: (question != Question::Validate).then_some(0), ..Summary::default() };
    let told = std::thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(MAX_PARCELS);
        for _ in 0..threads.min(queue.sources.len()) {
            let send = send.clone();
            scope.spawn(|| work(&queue, send, inspection, question));
        }
        drop(send);
        let tell = |report: &Report| {
            summary.add(report);
            progress.suspend(|| tell(report, session))
        };
        let told = in_order(receive, &queue, tell, || progress.inc(1));
        // Threads that still wait for a turn can stop.
        queue.stop();
        told
    });
    progress.finish_and_clear();
    told?;
    conclude(&summary, question, session)
}

/// Hands the reports on in the order of the sources.
fn in_order(
    receive: mpsc::Receiver<ReportBatch>,
    queue: &Queue,
    mut tell: impl FnMut(&Report) -> Result<(), Diagnostic>,
    mut source_done: impl FnMut(),
) -> Result<(), Diagnostic> {
    let mut waiting: BTreeMap<usize, ReportBatch> = BTreeMap::new();
    let mut due = 0;
    for parcel in receive {
        let mut next = if parcel.at == due {
            Some(parcel)
        } else {
            waiting.insert(parcel.at, parcel);
            None
        };
        while let Some(parcel) = next.take() {
            parcel.reports.iter().try_for_each(&mut tell)?;
            if parcel.last {
                source_done();
                due += 1;
                queue.turn_to(due);
                next = waiting.remove(&due);
            }
        }
    }
    Ok(())
}

/// The sources that are left to validate, and which one is printed next.
struct Queue {
    sources: Vec<LoadedSource>,
    next: AtomicUsize,
    turn: Mutex<PrintTurn>,
    changed: Condvar,
}

struct PrintTurn {
    due: usize,
    stopped: bool,
}

impl Queue {
    fn new(sources: Vec<LoadedSource>) -> Self {
        let turn = Mutex::new(PrintTurn { due: 0, stopped: false });
        Queue { sources, next: AtomicUsize::new(0), turn, changed: Condvar::new() }
    }

    /// The next source, once it is not too far ahead of the one whose turn it is.
    fn take(&self) -> Option<(usize, &LoadedSource)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let source = self.sources.get(at)?;
        self.wait(|turn| at < turn.due + MAX_AHEAD).then_some((at, source))
    }

    /// Waits until a condition of the turn holds; false if all was stopped meanwhile.
    fn wait(&self, holds: impl Fn(&PrintTurn) -> bool) -> bool {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = self
            .changed
            .wait_while(turn, |turn| !turn.stopped && !holds(turn))
            .unwrap_or_else(PoisonError::into_inner);
        !turn.stopped
    }

    fn turn_to(&self, due: usize) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).due = due;
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
        self.changed.notify_all();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the channel ends when its last sender does")]
fn work(
    queue: &Queue,
    send: mpsc::SyncSender<ReportBatch>,
    inspection: &Inspection,
    question: Question,
) {
    let mut buffer = Vec::new();
    while let Some((at, source)) = queue.take() {
        let mut held = Vec::new();
        let mut listened_to = true;
        judge_source(source, inspection, question, &mut buffer, |report| {
            held.push(report);
            if held.len() >= MAX_HELD {
                let reports = std::mem::take(&mut held);
                listened_to = listened_to
                    && queue.wait(|turn| turn.due == at)
                    && send.send(ReportBatch { at, reports, last: false }).is_ok();
            }
        });
        if !listened_to || send.send(ReportBatch { at, reports: held, last: true }).is_err() {
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
    let warnings = match question {
        Question::Validate => None,
        Question::Lint | Question::LintStrictly => Some(if verdict.is_valid() {
            match Package::read_clamped(document.bytes) {
                Ok(package) => {
                    let mut warnings = lint(document.bytes, &package);
                    for warning in &mut warnings {
                        warning.line += lines_before;
                    }
                    warnings
                }
                Err(error) => {
                    unreadable = Some(error.to_string());
                    Vec::new()
                }
            }
        } else {
            Vec::new()
        }),
    };
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
    Report {
        source,
        line,
        valid: false,
        entries: 0,
        violation_count: 0,
        violations: Vec::new(),
        warnings: None,
        unreadable: Some(error.to_string()),
    }
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

fn tell(report: &Report, session: &Session) -> Result<(), Diagnostic> {
    if session.output.is_json() {
        return session.output.json_line(report);
    }
    let source = &printable(&report.source);
    if let Some(reason) = &report.unreadable {
        let line = report.line.map(|line| format!(":{line}")).unwrap_or_default();
        session.output.text(format!("{source}{line}: {ERROR}unreadable{ERROR:#}: {reason}\n"))?;
    }
    let mut lines = String::new();
    for violation in &report.violations {
        let Violation { line, column, code, pointer, .. } = violation;
        let code = code.code();
        // What concerns the document as a whole has no pointer to show.
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

fn conclude(summary: &Summary, question: Question, session: &Session) -> Result<(), Diagnostic> {
    if session.output.is_json() {
        session.output.json_line(&serde_json::json!({ "summary": summary }))?;
    } else {
        session.output.note(sentence(summary));
    }
    let warned = question == Question::LintStrictly && summary.warnings > Some(0);
    if summary.invalid > 0 || summary.unreadable > 0 || warned {
        Err(Diagnostic::already_told())
    } else {
        Ok(())
    }
}

fn sentence(summary: &Summary) -> String {
    let count = |count: u64, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
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
