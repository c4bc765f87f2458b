//! The line editor, with a history of earlier lines.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use reedline::{
    ColumnarMenu, Completer, CompletionResult, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, Span, Suggestion, ValidationResult, Validator, default_emacs_keybindings,
};

use super::library::{Completion, Library};
use super::slash_command;
use crate::config::made_folder_of;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::runtime::Signals;
use crate::session::Session;

pub(super) const PROMPT: &str = "> ";
pub(super) const CONTINUATION_PROMPT: &str = ". ";
const MAX_HISTORY: usize = 2000;
/// Timeout for the engine to restore the terminal.
const MAX_STOP: Duration = Duration::from_secs(1);
const MENU: &str = "commands";

pub(super) struct Editor {
    engine: Option<Reedline>,
    stop: Arc<AtomicBool>,
    joined: ContinuedLines,
}

impl Editor {
    pub(super) fn open(library: Library, session: &Session) -> Result<Self> {
        let path = session.home()?.chat().join("history");
        let history = private(&path).map_err(|error| error.to_string()).and_then(|()| {
            let history = FileBackedHistory::with_file(MAX_HISTORY, path.clone());
            history.map_err(|error| error.to_string())
        });
        library.watch();
        let joined = ContinuedLines::default();
        let stop = Arc::new(AtomicBool::new(false));
        let mut keys = default_emacs_keybindings();
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![
                ReedlineEvent::Menu(MENU.to_owned()),
                ReedlineEvent::MenuNext,
            ]),
        );
        let is_coloured =
            anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        let menu = ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU)));
        let engine = Reedline::create()
            .with_ansi_colors(is_coloured)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_completer(Box::new(Commands { library: Some(library) }))
            .with_menu(menu)
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_validator(Box::new(joined.clone()))
            .with_break_signal(Arc::clone(&stop))
            .use_bracketed_paste(true);
        let engine = match history {
            Ok(history) => engine.with_history(Box::new(history)),
            Err(error) => {
                let path = path.display();
                session.output.warn(format!("the input history is not saved to {path}: {error}"));
                engine
            }
        };
        Ok(Self { engine: Some(engine), stop, joined })
    }

    /// The next input; an inner error if the terminal cannot be drawn on. A signal ends the read
    /// and restores the terminal.
    pub(super) async fn read(&mut self, signals: &mut Signals) -> Result<Result<Signal, String>> {
        let Some(mut engine) = self.engine.take() else {
            return Ok(Err("the line editor is unavailable".to_owned()));
        };
        let reading = tokio::task::spawn_blocking(move || {
            let read = engine.read_line(&EditorPrompt);
            // After a failure the next line tries again.
            let _ = engine.sync_history();
            (engine, read)
        });
        tokio::pin!(reading);
        let read = tokio::select! {
            read = &mut reading => read,
            exit = signals.next() => {
                self.stop.store(true, Ordering::Release);
                // A thread that reads from a closed terminal may never return.
                let _ = tokio::time::timeout(MAX_STOP, reading).await;
                return Err(Diagnostic::interrupted(exit));
            }
        };
        let (engine, read) = read.or_failed("cannot read from the terminal")?;
        self.engine = Some(engine);
        Ok(match read {
            Ok(Signal::Success(text)) => Ok(Signal::Success(self.joined.take(&text))),
            Ok(other) => {
                self.joined.take("");
                Ok(other)
            }
            Err(error) => Err(error.to_string()),
        })
    }
}

/// Creates the file, readable by its owner only, if it is missing.
fn private(path: &Path) -> io::Result<()> {
    made_folder_of(path)?;
    fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

/// Lines that were entered with a backslash at their end. Pasted lines may end in one too and
/// stay unchanged.
#[derive(Debug, Clone, Default)]
struct ContinuedLines {
    lines: Arc<Mutex<BTreeSet<String>>>,
}

impl ContinuedLines {
    /// The text without the backslashes that joined its lines.
    fn take(&self, text: &str) -> String {
        let joined =
            std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner));
        let lines = text.split('\n').map(|line| match line.strip_suffix('\\') {
            Some(plain) if joined.contains(line) => plain,
            _ => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Validator for ContinuedLines {
    fn validate(&self, text: &str) -> ValidationResult {
        if !is_continued(text) {
            return ValidationResult::Complete;
        }
        let line = text.rsplit('\n').next().unwrap_or(text).to_owned();
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(line);
        ValidationResult::Incomplete
    }
}

/// Whether a line ends with one backslash: the message continues on the next line.
pub(super) fn is_continued(line: &str) -> bool {
    line.ends_with('\\') && !line.ends_with("\\\\")
}

#[derive(Debug)]
struct Commands {
    library: Option<Library>,
}

impl Completer for Commands {
    fn complete(&mut self, line: &str, at: usize) -> CompletionResult {
        let begun = line.get(..at).unwrap_or_default();
        let fitting = begun.strip_prefix('/').into_iter().flat_map(|begun| {
            slash_command::ALL.iter().filter(move |(name, ..)| name.starts_with(begun))
        });
        let own = fitting
            .map(|(name, _, does, _)| Completion::new(format!("/{name}"), (*does).to_owned()));
        let (from, more) =
            self.library.as_ref().map(|library| library.suggest(begun)).unwrap_or_default();
        let all = own.map(|one| (0, one)).chain(more.into_iter().map(|one| (from, one)));
        let suggestions = all.map(|(from, one)| Suggestion {
            value: one.value,
            description: Some(one.about),
            span: Span::new(from, at),
            append_whitespace: one.is_whole,
            ..Suggestion::default()
        });
        CompletionResult::fresh(suggestions.collect::<Vec<_>>())
    }
}

#[derive(Debug)]
struct EditorPrompt;

impl Prompt for EditorPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(PROMPT)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(CONTINUATION_PROMPT)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("search {}: ", search.term))
    }
}

#[cfg(test)]
mod tests;
