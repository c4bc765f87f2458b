//! The slash commands.

use task_loop::nearest;
use task_loop::untrusted::printable;

use super::library::PREFIX;
use crate::diagnostic::{Diagnostic, Result};
use crate::output::DIM;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Help,
    Model,
    Tools,
    Mcp,
    ReloadMcp,
    Cost,
    Metrics,
    History,
    Save,
    Compact,
    Clear,
    Quit,
}

#[derive(Debug)]
pub(super) struct SlashHelp {
    pub(super) name: &'static str,
    takes: &'static str,
    pub(super) does: &'static str,
    slash: SlashCommand,
}

const fn command(
    name: &'static str,
    takes: &'static str,
    does: &'static str,
    slash: SlashCommand,
) -> SlashHelp {
    SlashHelp { name, takes, does, slash }
}

/// In display order.
pub(super) const ALL: [SlashHelp; 12] = [
    command("help", "", "Show this help", SlashCommand::Help),
    command(
        "model",
        "[ID]",
        "List the models with their prices, or switch to another one",
        SlashCommand::Model,
    ),
    command(
        "tools",
        "[WORDS]",
        "List the tools offered to the model, or search for a tool",
        SlashCommand::Tools,
    ),
    command("mcp", "", "Show the state of each server", SlashCommand::Mcp),
    command("reload-mcp", "", "Reload the servers from config.yaml", SlashCommand::ReloadMcp),
    command("cost", "", "Show the cost of this conversation and your balance", SlashCommand::Cost),
    command("metrics", "", "Show the next package of usage metrics", SlashCommand::Metrics),
    command("history", "", "Show the conversation, one line per message", SlashCommand::History),
    command("save", "[FILE]", "Save the conversation to a Markdown file", SlashCommand::Save),
    command(
        "compact",
        "",
        "Let the model replace the conversation by a summary",
        SlashCommand::Compact,
    ),
    command("clear", "", "Start a new conversation", SlashCommand::Clear),
    command("quit", "", "Quit; resume with `agent chat --resume`", SlashCommand::Quit),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatInput<'a> {
    Nothing,
    Words(&'a str),
    Command(SlashCommand, &'a str),
    /// A prompt of a server, and its arguments.
    Prompt(&'a str, &'a str),
}

pub(super) fn read(text: &str) -> Result<ChatInput<'_>> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('/') else {
        return Ok(if text.is_empty() { ChatInput::Nothing } else { ChatInput::Words(text) });
    };
    if rest.starts_with('/') {
        return Ok(ChatInput::Words(rest));
    }
    let (name, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let meant = if name == "exit" { "quit" } else { name };
    match ALL.iter().find(|known| known.name == meant) {
        Some(known) => Ok(ChatInput::Command(known.slash, behind.trim())),
        None if name.starts_with(PREFIX) => Ok(ChatInput::Prompt(name, behind.trim())),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Diagnostic {
    let near = nearest(name, ALL.iter().map(|known| known.name)).map(|near| format!("/{near}"));
    Diagnostic::usage(format!("unknown command `/{}`", printable(name)))
        .did_you_mean(near.as_deref(), "list the commands with `/help`")
        .hint("to send a line that starts with a slash to the model, start it with two")
}

pub(super) fn help() -> String {
    let typed = |known: &SlashHelp| format!("/{} {}", known.name, known.takes);
    let width = ALL.iter().map(|known| typed(known).trim_end().len()).max().unwrap_or(0);
    let line =
        |known: &SlashHelp| format!("  {:<width$}  {}\n", typed(known).trim_end(), known.does);
    let commands: String = ALL.iter().map(line).collect();
    format!(
        "{commands}{DIM}  End a line with \\ or press Alt-Enter to start another line.\n\
         \x20 Ctrl-C stops an answer or clears the line; press it twice, or Ctrl-D, to quit.\n\
         \x20 /mcp__SERVER__PROMPT sends a prompt, @SERVER:URI attaches a resource.\n\
         \x20 //text sends /text to the model.{DIM:#}\n"
    )
}

#[cfg(test)]
mod tests;
