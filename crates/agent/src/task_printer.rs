//! Reports the events of a task to a person at a terminal, or to a program.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use task_loop::conversation::Call;
use task_loop::end::TaskEnd;
use task_loop::event::{Event, Listener};
use task_loop::member::credits;
use task_loop::toolbox::CallOutcome;
use task_loop::toolbox::plan::{self, Plan, StepState};
use task_loop::{Sanitizer, TaskUsage};
use usage_metrics::catalogue::ToolOutcome;

use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::markdown::Renderer;
use crate::mcp::reporter::Reporter;
use crate::member::Member;
use crate::output::{DIM, ERROR, GOOD, Output, USUAL_COLUMNS, WARNING};
use crate::table::counted;

/// Maximum length of shown call arguments without a terminal width.
const MAX_ARGUMENT_CHARS: usize = 120;
/// Minimum length of shown call arguments, however narrow the terminal is.
const MIN_ARGUMENT_CHARS: usize = 16;

#[derive(Debug)]
pub(crate) struct TaskPrinter {
    output: Output,
    shown: Sanitizer,
    /// The answer is printed as it arrives.
    is_streaming: bool,
    reporter: Arc<Reporter>,
    /// Formats one answer for a terminal, as it arrives.
    renderer: Option<Renderer>,
    /// The running calls: their ids, and a line for each.
    running: Vec<(String, String)>,
    /// The output so far does not end a line.
    is_mid_line: bool,
    /// The lines of the unfinished block on the screen, which is redrawn with each piece.
    preview_lines: usize,
    /// Why the output could not be written.
    trouble: Option<Diagnostic>,
}

impl TaskPrinter {
    pub(crate) fn new(output: Output, shown: Sanitizer, reporter: Arc<Reporter>) -> Self {
        let is_streaming = io::stdout().is_terminal() && !output.is_json();
        Self {
            output,
            shown,
            is_streaming,
            reporter,
            renderer: None,
            running: Vec::new(),
            is_mid_line: false,
            preview_lines: 0,
            trouble: None,
        }
    }

    pub(crate) fn stop_streaming(&mut self) {
        self.is_streaming = false;
    }

    /// Prints the answer unless it was printed as it arrived. Fails if any output could not be
    /// written.
    pub(crate) fn finish(self, answer: &str) -> Result {
        if !self.is_streaming && !self.output.is_json() && !answer.is_empty() {
            let answer = self.shown.whole(answer);
            let end = if answer.ends_with('\n') { "" } else { "\n" };
            self.output.bytes(format!("{answer}{end}").as_bytes())?;
        }
        self.trouble.map_or(Ok(()), Err)
    }

    fn print_text(&mut self, text: &str) {
        if !self.is_streaming {
            return;
        }
        self.reporter.done_waiting();
        let text = self.shown.whole(text);
        let output = &self.output;
        let new = || Renderer::new(output.columns().unwrap_or(USUAL_COLUMNS));
        let renderer = self.renderer.get_or_insert_with(new);
        let finished = renderer.push(&text);
        let preview = renderer.preview();
        self.erase_preview();
        self.write(&finished);
        self.draw_preview(&preview);
    }

    /// Draws the end of an unfinished block, as much as fits the screen.
    fn draw_preview(&mut self, preview: &str) {
        if preview.is_empty() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return;
        }
        let lines: Vec<&str> = preview.lines().collect();
        let shown = &lines[lines.len().saturating_sub(self.output.rows() - 1)..];
        self.preview_lines = shown.len();
        self.write(&shown.join("\n"));
    }

    /// Moves the cursor to the start of the unfinished block and clears the rest of the screen.
    fn erase_preview(&mut self) {
        let up = match std::mem::take(&mut self.preview_lines) {
            0 => return,
            1 => "\r".to_owned(),
            lines => format!("\r\x1b[{}A", lines - 1),
        };
        // Not through `write`, which removes codes if colours are off.
        let erased = self.output.bytes(format!("{up}\x1b[J").as_bytes());
        self.written(erased);
        self.is_mid_line = false;
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.is_mid_line = !anstream::adapter::strip_str(text).to_string().ends_with('\n');
        let written = self.output.verbatim(text);
        self.written(written);
    }

    fn written(&mut self, result: Result) {
        if let Err(diagnostic) = result {
            self.trouble.get_or_insert(diagnostic);
        }
    }

    /// On stderr, on a new line.
    fn note(&mut self, text: &str) {
        self.reporter.done_waiting();
        self.end_line();
        self.output.note(text);
    }

    fn end_line(&mut self) {
        if let Some(mut renderer) = self.renderer.take() {
            let rest = renderer.finish();
            self.erase_preview();
            self.write(&rest);
        }
        if self.is_mid_line {
            self.write("\n");
        }
    }

    fn wait_for(&mut self, what: String) {
        self.end_line();
        self.reporter.waiting_for(what);
    }

    fn wait_for_calls(&mut self) {
        let line = match &*self.running {
            [] => return self.reporter.done_waiting(),
            [(_, only)] => only.clone(),
            many => {
                let names: Vec<&str> =
                    many.iter().map(|(_, line)| line.split(' ').next().unwrap_or(line)).collect();
                format!("{} calls: {}", many.len(), names.join(", "))
            }
        };
        self.wait_for(line);
    }

    fn plan(&mut self, plan: &Plan) {
        let lines = plan.steps.iter().map(|step| {
            let (style, mark) = match step.status {
                StepState::Completed => (GOOD, "✓"),
                StepState::InProgress => (WARNING, "→"),
                StepState::Pending => (DIM, "·"),
            };
            format!("  {style}{mark}{style:#} {}", self.shown.line(&step.step))
        });
        let lines: Vec<String> = lines.collect();
        self.note(&format!("plan:\n{}", lines.join("\n")));
    }

    fn called(&mut self, call: &Call, outcome: &CallOutcome) {
        let (style, mark) = match outcome.how {
            ToolOutcome::Success => (GOOD, "✓"),
            ToolOutcome::Blocked => (WARNING, "–"),
            _ => (ERROR, "✗"),
        };
        self.running.retain(|(id, _)| *id != call.id);
        let name = self.shown.line(&call.name);
        let mut how = format!("{}, {}", duration(outcome.took), size(outcome.text.len()));
        if !outcome.attachments.is_empty() {
            how.push_str(&format!(", {}", counted(outcome.attachments.len(), "attachment")));
        }
        if let Some(charge) = outcome.charge_micros.filter(|charge| *charge != 0) {
            how.push_str(&format!(", {} credits", credits(charge)));
        }
        // The line should fit: mark, name, arguments, and result.
        let taken = name.chars().count() + how.chars().count() + 4;
        let room = match self.output.columns() {
            Some(width) => width.saturating_sub(taken).max(MIN_ARGUMENT_CHARS),
            None => MAX_ARGUMENT_CHARS,
        };
        let arguments = shortened(&self.shown.line(&call.arguments), room);
        let mut line = format!("{style}{mark}{style:#} {name} {DIM}{arguments}{DIM:#} {how}");
        if outcome.how != ToolOutcome::Success {
            let why = self.shown.first_line(&outcome.text);
            line.push_str(&format!("\n  {why}"));
        }
        self.note(&line);
        self.wait_for_calls();
    }
}

impl Listener for TaskPrinter {
    fn event(&mut self, event: Event<'_>) {
        if self.output.is_json() {
            let written = self.output.json_line(&self.shown.json(event.json()));
            return self.written(written);
        }
        match event {
            Event::Asking { model } => self.wait_for(format!("{model} …")),
            Event::Text { text } => self.print_text(text),
            Event::CutShort => self.note("the answer was too long and was cut"),
            Event::Calling { call, .. } => {
                let line = self.shown.line(&format!("{} {}", call.name, call.arguments));
                self.running.push((call.id.clone(), line));
                self.wait_for_calls();
            }
            Event::Progress { call, text } => {
                let name = self.running.iter().find(|(id, _)| id == call);
                let name = name.and_then(|(_, line)| line.split(' ').next()).unwrap_or_default();
                let line = format!("{name} {}", self.shown.line(text));
                self.reporter.waiting_for(line);
            }
            Event::Called { call, outcome } if call.name == plan::NAME => {
                self.running.retain(|(id, _)| *id != call.id);
                let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
                match Plan::parse(&arguments) {
                    Ok(plan) => self.plan(&plan),
                    Err(_) => self.called(call, outcome),
                }
            }
            Event::Called { call, outcome } => self.called(call, outcome),
            Event::Trimmed { cut } => self.note(&format!(
                "{DIM}the conversation exceeded the context window: {} results, {} messages and \
                 {} attachments were cut{DIM:#}",
                cut.results, cut.messages, cut.attachments
            )),
            Event::Summarised { messages, .. } => self.note(&format!(
                "{DIM}{} replaced by a summary{DIM:#}",
                counted(messages, "earlier message")
            )),
            Event::Rejected { kind, count } => self.note(&format!(
                "{WARNING}note:{WARNING:#} the model does not accept {}: {} left out",
                kind.plural(),
                counted(count, "attachment")
            )),
            Event::Waiting { trouble, wait } => {
                let line = trouble.line();
                let seconds = wait.as_secs_f64();
                self.note(&format!(
                    "{WARNING}waiting:{WARNING:#} {line}; retrying in {seconds:.0} s"
                ));
            }
            Event::Unfinished { calls } => {
                let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
                let names = self.shown.line(&names.join(", "));
                self.note(&format!(
                    "{WARNING}warning:{WARNING:#} these tool calls may or may not have run: {names}"
                ));
            }
            Event::Finished { spent, .. } => {
                self.running.clear();
                self.reporter.done_waiting();
                self.end_line();
                self.output.detail(used(spent));
            }
        }
    }
}

/// Why a task failed; `None` if it completed.
pub(crate) fn end_diagnostic(end: &TaskEnd, member: &Member) -> Option<Diagnostic> {
    let hint = match end {
        TaskEnd::Completed => return None,
        TaskEnd::Trouble(trouble) => return Some(member.diagnostic(trouble)),
        TaskEnd::Cancelled => return Some(Diagnostic::interrupted(Exit::Interrupted)),
        TaskEnd::Ended => return Some(Diagnostic::interrupted(Exit::Terminated)),
        TaskEnd::Denied => {
            "run it in a terminal to be asked, or approve calls in advance with `--approve SERVER`"
        }
        TaskEnd::Rounds { .. } => "set the limit with `--max-rounds`",
        TaskEnd::Budget { .. } => "set the limit with `--max-credits`",
        TaskEnd::TimedOut { .. } => "set the limit with `--max-time`",
        TaskEnd::Empty | TaskEnd::Filtered => "",
    };
    let hint = Some(hint).filter(|hint| !hint.is_empty()).map(str::to_owned);
    Some(Diagnostic::failed(format!("the task did not complete: {end}")).hints(hint))
}

pub(crate) fn used(spent: &TaskUsage) -> String {
    format!(
        "{}, {}, {} tokens in, {} out, {} credits",
        counted(spent.model_calls as usize, "model call"),
        counted(spent.tool_calls as usize, "tool call"),
        spent.input_tokens,
        spent.output_tokens,
        credits(spent.charge_micros),
    )
}

pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

pub(crate) fn duration(time: std::time::Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

pub(crate) fn size(bytes: usize) -> String {
    let kilobytes = bytes / 1000;
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{kilobytes} kB"),
        _ => format!("{}.{} MB", kilobytes / 1000, kilobytes % 1000 / 100),
    }
}

#[cfg(test)]
mod tests;
