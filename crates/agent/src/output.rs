//! The terminal: data on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use anstyle::{AnsiColor, Style as Ansi};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use task_loop::untrusted::escaped_lines;

use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::wrap;

/// Styles of severity. Every severity also has a word.
pub(crate) const ERROR: Ansi = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Ansi = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Ansi = AnsiColor::Green.on_default().bold();
pub(crate) const DIM: Ansi = Ansi::new().dimmed();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Human,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    Quiet,
    Normal,
    Verbose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    /// On terminals, unless the environment disables it.
    Auto,
    Never,
}

pub(crate) const BYTES: &str = "bytes";

/// Default terminal width in columns.
pub(crate) const USUAL_COLUMNS: usize = 80;
const USUAL_ROWS: usize = 24;
/// Narrower terminals wrap by themselves.
const MIN_COLUMNS: usize = 20;
/// Longer lines are hard to read.
const MAX_COLUMNS: usize = 100;

#[derive(Debug, Clone)]
pub(crate) struct Output {
    style: Style,
    volume: Volume,
}

impl Output {
    /// Creates an output; sets colour for the whole process.
    pub(crate) fn new(style: Style, volume: Volume, color: Color) -> Self {
        if color == Color::Never {
            anstream::ColorChoice::Never.write_global();
        }
        Output { style, volume }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.style == Style::Json
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.volume == Volume::Quiet
    }

    /// The text width, if standard output is a terminal.
    #[expect(clippy::unused_self, reason = "only who holds the output may ask about it")]
    pub(crate) fn columns(&self) -> Option<usize> {
        columns().map(|columns| columns.min(MAX_COLUMNS))
    }

    #[expect(clippy::unused_self, reason = "only who holds the output may ask about it")]
    pub(crate) fn rows(&self) -> usize {
        let rows = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_row);
        if rows == 0 { USUAL_ROWS } else { usize::from(rows) }
    }

    /// Prints text for a person, wrapped between words at a terminal.
    pub(crate) fn text(&self, text: impl Display) -> Result {
        self.verbatim(wrap::prose(&text.to_string(), columns()))
    }

    /// Prints documents and code, which a line break would change.
    #[expect(clippy::unused_self, reason = "only who holds the output may write")]
    pub(crate) fn verbatim(&self, text: impl Display) -> Result {
        let mut out = anstream::stdout().lock();
        write!(out, "{text}")?;
        Ok(out.flush()?)
    }

    #[expect(clippy::unused_self, reason = "only who holds the output may write")]
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        Ok(out.flush()?)
    }

    pub(crate) fn json(&self, value: &impl Serialize) -> Result {
        let mut bytes = serde_json::to_vec_pretty(value).map_err(io::Error::from)?;
        bytes.push(b'\n');
        self.bytes(&bytes)
    }

    /// Prints the text, or the value with `--json`.
    pub(crate) fn print(&self, value: &impl Serialize, text: impl Display) -> Result {
        if self.is_json() { self.json(value) } else { self.text(text) }
    }

    /// Prints a note, or the value with `--json`.
    pub(crate) fn print_or_note(&self, value: &impl Serialize, note: impl Display) -> Result {
        if self.is_json() {
            return self.json(value);
        }
        self.note(note);
        Ok(())
    }

    /// Prints a note for a person; with `--json` nothing.
    pub(crate) fn tell(&self, text: impl Display) {
        if !self.is_json() {
            self.note(text);
        }
    }

    /// Prints a document verbatim, or the value with `--json`.
    pub(crate) fn document(&self, value: &impl Serialize, text: impl Display) -> Result {
        if self.is_json() { self.json(value) } else { self.verbatim(text) }
    }

    pub(crate) fn markdown(&self, page: &str) -> Result {
        self.document(&serde_json::json!({ "markdown": page }), page)
    }

    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result {
        let mut bytes = serde_json::to_vec(value).map_err(io::Error::from)?;
        bytes.push(b'\n');
        self.bytes(&bytes)
    }

    pub(crate) fn note(&self, text: impl Display) {
        if self.volume >= Volume::Normal {
            self.need(text);
        }
    }

    /// Prints to stderr even with `--quiet`.
    pub(crate) fn need(&self, text: impl Display) {
        match self.style {
            Style::Human => prose(text),
            Style::Json => aside(text),
        }
    }

    /// Prints a warning to stderr; with `--json`, as an object on one line.
    pub(crate) fn warn(&self, text: impl Display) {
        match self.style {
            Style::Human => self.note(format!("{WARNING}warning:{WARNING:#} {text}")),
            Style::Json => {
                self.note(serde_json::json!({ "warning": { "message": text.to_string() } }));
            }
        }
    }

    pub(crate) fn detail(&self, text: impl Display) {
        if self.volume >= Volume::Verbose {
            self.need(text);
        }
    }

    /// A progress bar over `length` steps: drawn on a terminal, silent elsewhere.
    pub(crate) fn progress(&self, length: u64, unit: &'static str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(length), self.draw_target());
        let template = match unit {
            BYTES => "{bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}"
                .to_owned(),
            _ => format!("{{bar:30}} {{pos}}/{{len}} {unit} {{eta}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar
    }

    /// A line that names what it waits for: drawn on a terminal once it has a message, silent
    /// elsewhere.
    pub(crate) fn spinner(&self) -> ProgressBar {
        let spinner = ProgressBar::with_draw_target(None, self.draw_target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            spinner.set_style(style);
        }
        spinner
    }

    fn draw_target(&self) -> ProgressDrawTarget {
        let is_visible = self.volume >= Volume::Normal && io::stderr().is_terminal();
        if is_visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }

    pub(crate) fn finish(&self, result: Result) -> Exit {
        let Err(diagnostic) = result else {
            return Exit::Done;
        };
        self.report(&diagnostic);
        diagnostic.exit
    }

    pub(crate) fn report(&self, diagnostic: &Diagnostic) {
        if diagnostic.message.is_some() {
            match self.style {
                Style::Human => print_diagnostic(diagnostic),
                Style::Json => aside(diagnostic.to_json()),
            }
        }
    }
}

/// The columns of standard output, if it is a terminal.
pub(crate) fn columns() -> Option<usize> {
    width(io::stdout())
}

fn width(stream: impl IsTerminal + AsFd) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col);
    let columns = if columns == 0 { USUAL_COLUMNS } else { usize::from(columns) };
    Some(columns.max(MIN_COLUMNS))
}

/// Prints a line to standard error. Failures are ignored.
pub(crate) fn aside(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints lines to standard error, wrapped between words at a terminal.
pub(crate) fn prose(text: impl Display) {
    aside(wrap::prose(&text.to_string(), width(io::stderr())));
}

/// Installs a panic hook that asks for a bug report.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        aside(format!(
            "error: this is a bug in agent\n  cause: {message}\n  cause: at {place}\n  hint: please \
             report it with the command you typed"
        ));
    }));
}

fn print_diagnostic(diagnostic: &Diagnostic) {
    // Most of these texts contain text from peers.
    let message = escaped_lines(diagnostic.message.as_deref().unwrap_or_default());
    prose(format!("{ERROR}error:{ERROR:#} {message}"));
    for cause in &diagnostic.causes {
        prose(format!("  {DIM}cause:{DIM:#} {}", escaped_lines(cause)));
    }
    for hint in &diagnostic.hints {
        prose(format!("  {GOOD}hint:{GOOD:#} {}", escaped_lines(hint)));
    }
}
