//! The loop of a conversation: reads messages and slash commands and runs them in order.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::session::CallOptions;
use mcp_client::{Error, ErrorKind};
use serde_json::json;
use task_loop::UserInput;
use task_loop::attachment::Attachment;
use task_loop::conversation::Message;
use task_loop::end::TaskEnd;
use task_loop::untrusted::printable;

use super::input::{Input, InputEvent};
use super::library::{append, rendered};
use super::session::ChatSession;
use super::slash_command::{self, ChatInput, SlashCommand};
use super::{reload, show};
use crate::attachments;
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::mcp::already_reported;
use crate::mcp::task_file::KeptTask;
use crate::output::DIM;
use crate::runtime::{Signals, StopSignal};
use crate::table::counted;
use crate::task_printer::{TaskPrinter, end_diagnostic, shortened};

/// Maximum length of the last message shown on resume, in characters.
const MAX_LAST_CHARS: usize = 60;
const MAX_TASKS: usize = 8;
const TASK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
enum NextAction {
    GoOn,
    Quit,
    Break(Diagnostic),
}

impl ChatSession<'_> {
    pub(super) async fn converse(&mut self, input: &mut Input, signals: &mut Signals) -> Result {
        self.greet(input)?;
        let (mut failed, mut is_reloaded) = (None, false);
        loop {
            let reporter = Arc::clone(&self.setup.fleet.reporter);
            if input.is_attended() {
                // A message may have been sent during the reload.
                if !is_reloaded {
                    self.output().json_line(&json!({"type": "idle"}))?;
                }
            } else if input.is_person() {
                reporter.hold();
            }
            let came = input.next(signals).await;
            reporter.release();
            is_reloaded = matches!(came, Ok(InputEvent::Reload(_)));
            let (text, is_message) = match came? {
                InputEvent::Typed(text) => (text, false),
                InputEvent::Message(text) => (text, true),
                InputEvent::Reload(confirmed) => {
                    let reloaded = reload::run(self, &confirmed);
                    if let Err(diagnostic) = unless_stopped(signals, reloaded).await {
                        self.output().report(&diagnostic);
                    }
                    continue;
                }
                InputEvent::End => break,
            };
            let done = Box::pin(self.take(&text, is_message, input.is_person(), signals)).await;
            match done {
                Ok(NextAction::GoOn) => {}
                Ok(NextAction::Quit) => break,
                Ok(NextAction::Break(diagnostic)) => return Err(diagnostic),
                // The output is closed, or the program has to end.
                Err(end) if end.message.is_none() || end.exit.is_of_signal() => {
                    let is_stop = end.exit == Exit::Interrupted && input.is_person();
                    if !is_stop {
                        return Err(end);
                    }
                    self.output().note("stopped");
                }
                Err(diagnostic) => {
                    self.output().report(&diagnostic);
                    failed.get_or_insert(diagnostic.exit);
                }
            }
        }
        self.library.unwatch().await;
        self.leave(input);
        match failed {
            // A script needs the exit code; a person has seen the error.
            Some(exit) if !input.is_person() => Err(already_reported(exit)),
            _ => Ok(()),
        }
    }

    fn greet(&self, input: &Input) -> Result {
        let said = self.conversation.messages().iter();
        let said = said.filter(|message| !matches!(message, Message::System { .. }));
        let said: Vec<&Message> = said.collect();
        if self.output().is_json() {
            return self.output().json_line(&json!({
                "type": "ready", "id": self.record.id(), "model": self.model.id,
                "messages": said.len(),
            }));
        }
        if !input.is_person() {
            return Ok(());
        }
        let registry = self.toolbox.registry();
        let tools = match registry.len() {
            0 => "no tools".to_owned(),
            count => counted(count, "tool"),
        };
        let model = printable(&self.model.id);
        self.output().note(format!(
            "{DIM}{model}, {tools}. Type /help for commands, Ctrl-D to leave.{DIM:#}"
        ));
        if let Some(last) = said.last() {
            let messages = counted(said.len(), "message");
            let (who, text) = show::excerpt(last);
            let text = shortened(&text, MAX_LAST_CHARS);
            self.output().note(format!("{DIM}{messages} so far; last ({who}): {text}{DIM:#}"));
        }
        Ok(())
    }

    fn leave(&self, input: &Input) {
        if input.is_person() && self.record.has_begun() {
            let id = self.record.id();
            self.output().note(format!("{DIM}Resume with `agent chat --resume {id}`.{DIM:#}"));
        }
    }

    /// The images whose paths a person typed or pasted. Paths in piped text are ignored: no
    /// person chose those files.
    async fn pasted(&self, words: &str) -> Vec<Attachment> {
        let home = self.session.environment.home.as_deref();
        let mut attached = Vec::new();
        for path in attachments::pasted(words, home) {
            let read = attachments::read(&path, &self.setup.attacher).await;
            let read = read.and_then(|attachment| {
                attachments::check(std::slice::from_ref(&attachment), &self.model)?;
                Ok(attachment)
            });
            match read {
                Ok(attachment) => {
                    let path = printable(&path.display().to_string());
                    self.output().note(format!("{DIM}attached {path}: {attachment}{DIM:#}"));
                    attached.push(attachment);
                }
                Err(diagnostic) => self.output().warn(diagnostic.line()),
            }
        }
        attached
    }

    async fn take(
        &mut self,
        text: &str,
        is_message: bool,
        is_person: bool,
        signals: &mut Signals,
    ) -> Result<NextAction> {
        let typed =
            if is_message { ChatInput::Words(text.trim()) } else { slash_command::read(text)? };
        match typed {
            ChatInput::Nothing | ChatInput::Words("") => Ok(NextAction::GoOn),
            ChatInput::Words(words) => {
                let attachments = if is_person { self.pasted(words).await } else { Vec::new() };
                let mut input = UserInput { text: words.to_owned(), attachments };
                if is_person {
                    let (library, toolbox) = (&self.library, &self.toolbox);
                    let read = Box::pin(library.with_mentions(&mut input, toolbox));
                    unless_stopped(signals, read).await?;
                }
                self.ask_with_news(input, signals).await
            }
            ChatInput::Prompt(name, arguments) => {
                let (library, toolbox) = (&self.library, &self.toolbox);
                let filled = Box::pin(library.prompt(name, arguments, toolbox));
                let input = unless_stopped(signals, filled).await?;
                self.ask_with_news(input, signals).await
            }
            ChatInput::Command(SlashCommand::Compact, _) if !self.is_empty() => {
                self.ask(None, signals).await
            }
            ChatInput::Command(slash, behind) => {
                Box::pin(unless_stopped(signals, self.command(slash, behind))).await
            }
        }
    }

    async fn ask_with_news(
        &mut self,
        mut input: UserInput,
        signals: &mut Signals,
    ) -> Result<NextAction> {
        let news = Box::pin(async {
            self.add_news(&mut input).await;
            Ok(())
        });
        unless_stopped(signals, news).await?;
        self.ask(Some(input), signals).await
    }

    /// Adds the results of tasks that an earlier process started, and attached resources that
    /// changed, and informs the person.
    async fn add_news(&self, said: &mut UserInput) {
        for kept in self.setup.fleet.tasks.of_conversation().into_iter().take(MAX_TASKS) {
            // An unavailable server is asked again with the next message.
            let _ = tokio::time::timeout(TASK_TIMEOUT, self.add_result(&kept, said)).await;
        }
        for name in self.library.with_changes(said, &self.toolbox).await {
            let name = printable(&name);
            self.output().note(format!("{DIM}attached {name} again: it changed{DIM:#}"));
        }
    }

    async fn add_result(&self, kept: &KeptTask, said: &mut UserInput) {
        let (task, tool) = (&kept.task, printable(&kept.task.tool));
        let shown = &self.setup.fleet.shown;
        let note = |how: &str| {
            let id = shown.line(&task.id);
            self.output().note(format!("{DIM}{tool} (task {id}): {how}{DIM:#}"));
        };
        match self.client.task_state(task).await {
            Ok(state) if state.status.is_final() => {}
            Ok(state) => return note(&shown.line(&state.to_string())),
            Err(Error::Rpc(_)) => return note("its server no longer knows it"),
            Err(_) => return,
        }
        let what = format!("result of an earlier call of {tool}");
        match self.client.task_result(task, &CallOptions::default()).await {
            Ok(outcome) => append(said, &what, rendered(&outcome, &self.toolbox).await),
            Err(Error::TaskCancelled { .. }) => return note("cancelled"),
            Err(error) if error.kind() == ErrorKind::Call => {
                append(said, &what, format!("error: {error}").as_str().into());
            }
            Err(_) => return,
        }
        note("its result is attached");
    }

    fn is_empty(&self) -> bool {
        self.conversation.messages().iter().all(|one| matches!(one, Message::System { .. }))
    }

    /// Sends a message, or asks for a summary.
    async fn ask(&mut self, said: Option<UserInput>, signals: &mut Signals) -> Result<NextAction> {
        let fleet = &self.setup.fleet;
        let (shown, reporter) = (fleet.shown.clone(), Arc::clone(&fleet.reporter));
        let mut printer = TaskPrinter::new(self.session.output.clone(), shown, reporter);
        let Self { setup, conversation, model, toolbox, counting, .. } = self;
        let done = signals.stop_on_signal(async |stop: StopSignal| {
            let context = setup.context(model, toolbox, counting, stop);
            match said {
                Some(_) => task_loop::run(said, conversation, &context, &mut printer).await,
                None => task_loop::compact(conversation, &context, &mut printer).await,
            }
        });
        let done = done.await?;
        self.spent = self.spent.plus(done.spent);
        self.record.spent(done.spent);
        let ended = end_diagnostic(&done.end, &self.setup.member);
        match (ended, printer.finish(&done.answer)) {
            (Some(ended), _) if done.end == TaskEnd::Ended => Ok(NextAction::Break(ended)),
            (_, Err(trouble)) => Ok(NextAction::Break(trouble)),
            (None, Ok(())) => Ok(NextAction::GoOn),
            (Some(_), Ok(())) if done.end == TaskEnd::Denied => {
                Err(Diagnostic::failed(format!("the answer was stopped: {}", done.end)))
            }
            (Some(diagnostic), Ok(())) => Err(diagnostic),
        }
    }

    async fn command(&mut self, slash: SlashCommand, behind: &str) -> Result<NextAction> {
        match slash {
            SlashCommand::Help => show::help(self)?,
            SlashCommand::Model if behind.is_empty() => show::models(self).await?,
            SlashCommand::Model => {
                self.take_model(behind).await?;
                show::model(self)?;
            }
            SlashCommand::Tools => show::tools(self, behind)?,
            SlashCommand::Mcp => show::servers(self)?,
            SlashCommand::ReloadMcp => reload::run(self, &[]).await?,
            SlashCommand::Cost => show::cost(self).await?,
            SlashCommand::Metrics => show::metrics(self)?,
            SlashCommand::History => show::history(self)?,
            SlashCommand::Save => show::save(self, behind)?,
            SlashCommand::Clear => self.clear().await?,
            // With messages, it asks the model.
            SlashCommand::Compact => self.output().note("No messages yet."),
            SlashCommand::Quit => return Ok(NextAction::Quit),
        }
        Ok(NextAction::GoOn)
    }
}

/// Runs the work unless a signal comes first.
async fn unless_stopped<T>(
    signals: &mut Signals,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let done = signals.stop_on_signal(async |stop: StopSignal| {
        tokio::select! {
            done = work => done,
            () = stop.now.cancelled() => {
                let is_ending = stop.is_ending.is_cancelled();
                let exit = if is_ending { Exit::Terminated } else { Exit::Interrupted };
                Err(Diagnostic::interrupted(exit))
            }
        }
    });
    done.await?
}
