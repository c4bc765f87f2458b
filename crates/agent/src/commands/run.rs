//! `agent run`: one task, or a file of tasks. The answer goes to standard output, everything
//! else to standard error. The conversation of a single task is saved and can be resumed.

mod batch;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::PossibleValue;
use mcp_client::Client;
use serde_json::Value;
use task_loop::approval_gate::PreApprovals;
use task_loop::chat_record::{ChatRecord, ToolChoice};
use task_loop::conversation::Message;
use task_loop::model::ApiKind;
use task_loop::{TaskContext, TaskResult, UserInput};
use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};

use super::chat::archive::{ChatArchive, ResumedChat};
use super::mcp::project;
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::key_value::words;
use crate::prompt::standard_input;
use crate::runtime::{Signals, StopSignal};
use crate::session::Session;
use crate::task_printer::{TaskPrinter, end_diagnostic};
use crate::task_setup::{TaskLimits, TaskRequest, TaskSetup};
use crate::{attachments, config};

const MAX_INPUT_BYTES: u64 = 8 * 1024 * 1024;
/// `--resume` value for the most recent task.
const LAST: &str = "last";

/// Run a task with tools
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The answer goes to stdout; messages go to stderr. Piped input is passed to the model with the \
task. Risky tool calls are shown in full and need your approval. Tasks are saved like chats; \
resume one with `--resume`.

Examples:
  agent run \"What changed in this folder today?\"
  git diff | agent run \"Review this change\"
  agent run --image shot.png \"What is wrong on this page?\"
  agent run --json \"Say hello\" | jq .
  agent run --resume
  agent run --batch tasks.txt --jobs 4 > answers.jsonl")]
pub(crate) struct Args {
    /// Task in your own words; `-` or nothing reads stdin
    #[arg(value_name = "TASK")]
    words: Vec<String>,
    /// Run the tasks of a file, one per line: text or `{"id", "task"}`
    #[arg(long, value_name = "FILE", conflicts_with = "words")]
    batch: Option<PathBuf>,
    /// Number of batch tasks to run at once
    #[arg(long, value_name = "N", default_value_t = 2, requires = "batch",
          value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: u8,
    /// Resume a task, with a new message if there is one [default: the most recent task]
    #[arg(long, value_name = "ID|last", num_args = 0..=1, default_missing_value = LAST,
          conflicts_with = "batch")]
    resume: Option<String>,
    /// Do not save the conversation
    #[arg(long, conflicts_with_all = ["batch", "resume"])]
    no_save: bool,
    /// Image, PDF or audio file to attach; can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    image: Vec<PathBuf>,
    /// JSON Schema file that the answer must match
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    #[command(flatten)]
    manner: TaskOptions,
}

/// How tasks are run.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskOptions {
    /// Model id; see `agent models`
    #[arg(long, short, value_name = "ID")]
    pub(crate) model: Option<String>,
    /// API used to call the model
    #[arg(long, value_name = "FORM", value_parser = words::<ApiKind>([
        PossibleValue::new("chat").help("Chat completions API"),
        PossibleValue::new("responses").help("Responses API"),
    ]))]
    api: Option<ApiKind>,
    /// Use the tools of this server only; can be repeated
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// Disable tools
    #[arg(long, conflicts_with = "server")]
    no_tools: bool,
    /// Approve all requests of trusted servers
    #[arg(long, short)]
    yes: bool,
    /// Approve every call of this server, even if untrusted; can be repeated
    #[arg(long, value_name = "SERVER")]
    approve: Vec<String>,
    #[command(flatten)]
    limits: TaskLimits,
}

impl TaskOptions {
    /// A resumed conversation keeps its tools, unless others are requested.
    pub(crate) fn task_request(&self, resumed: Option<&ToolChoice>) -> TaskRequest {
        let given = ToolChoice { servers: self.server.clone(), none: self.no_tools };
        let before = resumed.filter(|_| given.is_all()).cloned();
        TaskRequest {
            model: self.model.clone(),
            form: self.api,
            tools: before.unwrap_or(given),
            beforehand: PreApprovals {
                yes: self.yes,
                servers: self.approve.iter().cloned().collect(),
            },
            limits: self.limits,
            is_alone: false,
            attended: None,
        }
    }
}

impl Args {
    fn schema(&self) -> Result<Option<Arc<Value>>> {
        let Some(path) = &self.output_schema else { return Ok(None) };
        let shown = path.display();
        let text = config::read(path)?.ok_or_else(|| Diagnostic::no_file(Exit::Usage, path))?;
        let invalid = || Diagnostic::usage(format!("{shown} is not a JSON Schema"));
        let schema: Value = serde_json::from_str(&text).or_diagnostic(invalid())?;
        if schema.is_object() { Ok(Some(Arc::new(schema))) } else { Err(invalid()) }
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let schema = args.schema()?;
    let tasks = args.batch.as_deref().map(batch::read).transpose()?;
    let words = if tasks.is_none() { prompt_text(args)? } else { String::new() };
    let archive = ChatArchive::of_runs(session)?;
    archive.prune(session)?;
    let named = args.resume.as_deref().map(|id| Some(id).filter(|id| *id != LAST));
    let resumed = named.map(|id| archive.resume(id, session)).transpose()?;
    let wanted = args.manner.task_request(resumed.as_ref().map(|resumed| &resumed.tools));
    let model = wanted.model.clone().or_else(|| resumed.as_ref().map(|it| it.model.clone()));
    let wanted = TaskRequest { model, is_alone: tasks.is_some(), ..wanted };
    if tasks.is_none() && !wanted.tools.none {
        project::offer(session)?;
    }
    let setup = TaskSetup::load(wanted, session)?;
    setup.open(async |setup, client, signals| {
        let shared = SharedTaskSetup { setup: &setup, client, schema };
        if let Some(tasks) = &tasks {
            return batch::run(tasks, args, shared, signals, session).await;
        }
        let task = SingleTask { args, words, archive, record: None };
        task.run(resumed, shared, signals, session).await
    })
}

struct SingleTask<'a> {
    args: &'a Args,
    words: String,
    archive: ChatArchive,
    /// `None` if the conversation is not saved.
    record: Option<ChatRecord>,
}

impl SingleTask<'_> {
    async fn run(
        mut self,
        resumed: Option<ResumedChat>,
        shared: SharedTaskSetup<'_>,
        signals: &mut Signals,
        session: &Session,
    ) -> Result {
        let setup = shared.setup;
        let working = signals.stop_on_signal(async |stop: StopSignal| {
            self.work(resumed, shared, &stop, session).await
        });
        let ended = working.await.flatten().and_then(|(done, printer)| {
            if let Some(record) = &self.record {
                record.spent(done.spent);
            }
            printer.finish(&done.answer)?;
            end_diagnostic(&done.end, &setup.member).map_or(Ok(()), Err)
        });
        ended.map_err(|diagnostic| match &self.record {
            Some(record) if record.has_begun() => diagnostic
                .hint(format!("resume the task with `agent run --resume {}`", record.id())),
            _ => diagnostic,
        })
    }

    async fn work(
        &mut self,
        resumed: Option<ResumedChat>,
        SharedTaskSetup { setup, client, schema }: SharedTaskSetup<'_>,
        stop: &StopSignal,
        session: &Session,
    ) -> Result<(TaskResult, TaskPrinter)> {
        let mut input =
            UserInput { text: std::mem::take(&mut self.words), attachments: Vec::new() };
        for path in &self.args.image {
            input.attachments.push(attachments::read(path, &setup.attacher).await?);
        }
        let counting = setup.counting(Entrypoint::Interactive, ExecutionSurface::Cli);
        let model = setup.ready(client, &counting, stop).await?;
        attachments::check(&input.attachments, &model)?;
        let (shown, reporter) = (setup.fleet.shown.clone(), Arc::clone(&setup.fleet.reporter));
        let toolbox = setup.toolbox(client, &model, session)?;
        let new = setup.conversation(&model, session);
        let mut conversation = match resumed {
            Some(mut resumed) => {
                resumed.conversation.open_like(new);
                if resumed.model != model.id {
                    resumed.record.model(&model.id);
                }
                self.record = Some(resumed.record);
                resumed.conversation
            }
            None if self.args.no_save => new,
            None => {
                let tools = setup.wanted.tools.clone();
                let (record, saved) = self.archive.begin(new, &model.id, tools, session);
                self.record = Some(record);
                saved
            }
        };
        let context = setup.context(&model, &toolbox, &counting, stop.clone());
        let context = TaskContext { output_schema: schema.clone(), ..context };
        let mut printer = TaskPrinter::new(session.output.clone(), shown, reporter);
        if schema.is_some() {
            // Answers that do not match are not shown.
            printer.stop_streaming();
        }
        let is_new = !input.text.is_empty() || !input.attachments.is_empty();
        let input = match conversation.messages().last() {
            _ if is_new => Some(input),
            // A model cannot answer its own message.
            Some(Message::Assistant { .. }) => Some("Continue.".into()),
            _ => None,
        };
        let done = task_loop::run(input, &mut conversation, &context, &mut printer).await;
        Ok((done, printer))
    }
}

/// The prompt for the model; a resumed task does not read a terminal.
fn prompt_text(args: &Args) -> Result<String> {
    let is_piped = !io::stdin().is_terminal();
    let typed = args.words.join(" ");
    let typed = if typed.trim() == "-" { String::new() } else { typed };
    let is_read = is_piped || (typed.trim().is_empty() && args.resume.is_none());
    let piped = if is_read { standard_input(MAX_INPUT_BYTES)? } else { String::new() };
    let words = match (typed.trim().is_empty(), piped.trim().is_empty()) {
        (false, true) => typed,
        (true, false) => piped,
        (false, false) => format!("{typed}\n\n{piped}"),
        (true, true) if args.resume.is_some() => String::new(),
        (true, true) => {
            return Err(Diagnostic::usage("missing task")
                .hint("pass it as an argument: `agent run \"Say hello\"`"));
        }
    };
    Ok(words.trim().to_owned())
}

#[derive(Debug)]
struct SharedTaskSetup<'a> {
    setup: &'a TaskSetup,
    client: &'a Client,
    schema: Option<Arc<Value>>,
}
