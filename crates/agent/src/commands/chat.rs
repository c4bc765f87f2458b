//! `agent chat`: a conversation. Answers of the model and of commands go to standard output;
//! everything else goes to standard error.

pub(crate) mod archive;
mod editor;
mod export;
mod input;
mod library;
mod reload;
mod repl;
mod session;
mod show;
mod slash_command;

use std::sync::Arc;

use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};

use self::archive::ChatArchive;
use self::input::{Input, MessageUnit};
use self::session::ChatSession;
use super::mcp::project;
use super::run::TaskOptions;
use crate::attended_person::OpenQuestions;
use crate::diagnostic::{Diagnostic, Result};
use crate::session::Session;
use crate::task_setup::{TaskRequest, TaskSetup};

/// Chat with a model that can use tools
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Conversations are saved; resume one with `--resume`. Type `/help` in a chat to list its \
commands. Without a terminal, each line of stdin is a message or a command.

Examples:
  agent chat
  agent chat --resume
  agent chat --model openai/gpt-5 --server files
  printf 'Say hello\\n/cost\\n' | agent chat")]
pub(crate) struct Args {
    /// Read all of stdin as one message
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    whole: Option<String>,
    /// Resume a conversation [default: the most recent one]
    #[arg(long, short, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
    /// List saved conversations
    #[arg(long, conflicts_with_all = ["whole", "resume"])]
    list: bool,
    /// List only conversations that contain these words
    #[arg(long, value_name = "WORDS", requires = "list")]
    find: Option<String>,
    /// Print a saved conversation as Markdown
    #[arg(long, value_name = "ID", conflicts_with_all = ["whole", "resume", "list"])]
    export: Option<String>,
    /// Delete a saved conversation; can be repeated
    #[arg(long, value_name = "ID", conflicts_with_all = ["whole", "resume", "list"])]
    remove: Vec<String>,
    /// Delete the conversations not used for this many days
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["whole", "resume", "list"])]
    remove_older: Option<u32>,
    /// Messages and answers to questions come as lines of JSON
    #[arg(long, hide = true, conflicts_with = "whole")]
    attended: bool,
    #[command(flatten)]
    manner: TaskOptions,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let archive = ChatArchive::of(session)?;
    if args.list {
        return archive.list(args.find.as_deref(), session);
    }
    if let Some(id) = &args.export {
        return archive.export(id, session);
    }
    if !args.remove.is_empty() || args.remove_older.is_some() {
        return archive.remove(&args.remove, args.remove_older, session);
    }
    archive.prune(session)?;
    if args.attended && !session.output.is_json() {
        return Err(Diagnostic::usage("--attended needs --json"));
    }
    let named = args.resume.as_deref().map(|id| Some(id).filter(|id| !id.is_empty()));
    let kept = named.map(|id| archive.resume(id, session)).transpose()?;
    let questions = args.attended.then(Arc::<OpenQuestions>::default);
    let wanted = args.manner.task_request(kept.as_ref().map(|kept| &kept.tools));
    let wanted = TaskRequest { attended: questions.clone(), ..wanted };
    if !wanted.tools.none {
        project::offer(session)?;
    }
    let setup = TaskSetup::load(wanted, session)?;
    setup.open(async |setup, client, signals| {
        let surface = if args.attended { ExecutionSurface::Desktop } else { ExecutionSurface::Tui };
        let counting = setup.counting(Entrypoint::Interactive, surface);
        let ready =
            signals.stop_on_signal(async |stop| setup.ready(client, &counting, &stop).await);
        let model = ready.await??;
        let mut chat = ChatSession::begin(setup, client, counting, model, session)?;
        if let Some(kept) = kept {
            chat.resume(kept, args.manner.model.is_some()).await;
        }
        let mut input = if let Some(questions) = questions {
            Input::attended(questions, session)?
        } else {
            let piece = if args.whole.is_some() { MessageUnit::Whole } else { MessageUnit::Line };
            Input::open(piece, &chat.library, session)?
        };
        Box::pin(chat.converse(&mut input, signals)).await
    })
}
