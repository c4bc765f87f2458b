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

/// The names, arguments and help texts, in display order.
pub(super) const ALL: [(&str, &str, &str, SlashCommand); 12] = [
    ("help", "", "Show this help", SlashCommand::Help),
    (
        "model",
        "[ID]",
        "List the models with their prices, or switch to another one",
        SlashCommand::Model,
    ),
    (
        "tools",
        "[WORDS]",
        "List the tools offered to the model, or search for a tool",
        SlashCommand::Tools,
    ),
    ("mcp", "", "Show the state of each server", SlashCommand::Mcp),
    ("reload-mcp", "", "Reload the servers from config.yaml", SlashCommand::ReloadMcp),
    ("cost", "", "Show the cost of this conversation and your balance", SlashCommand::Cost),
    ("metrics", "", "Show the next package of usage metrics", SlashCommand::Metrics),
    ("history", "", "Show the conversation, one line per message", SlashCommand::History),
    ("save", "[FILE]", "Save the conversation to a Markdown file", SlashCommand::Save),
    ("compact", "", "Let the model replace the conversation by a summary", SlashCommand::Compact),
    ("clear", "", "Start a new conversation", SlashCommand::Clear),
    ("quit", "", "Quit; resume with `agent chat --resume`", SlashCommand::Quit),
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
    if let Some((.., slash)) = ALL.iter().find(|(known, ..)| *known == meant) {
        return Ok(ChatInput::Command(*slash, behind.trim()));
    }
    if name.starts_with(PREFIX) {
        return Ok(ChatInput::Prompt(name, behind.trim()));
    }
    let near = nearest(name, ALL.map(|(known, ..)| known)).map(|near| format!("/{near}"));
    Err(Diagnostic::usage(format!("unknown command `/{}`", printable(name)))
        .did_you_mean(near.as_deref(), "list the commands with `/help`")
        .hint("to send a line that starts with a slash to the model, start it with two"))
}

pub(super) fn help() -> String {
    let typed = |name: &str, takes: &str| format!("/{name} {takes}").trim_end().to_owned();
    let width = ALL.iter().map(|(name, takes, ..)| typed(name, takes).len()).max().unwrap_or(0);
    let lines =
        ALL.map(|(name, takes, does, _)| format!("  {:<width$}  {does}\n", typed(name, takes)));
    let commands = lines.concat();
    format!(
        "{commands}{DIM}  End a line with \\ or press Alt-Enter to start another line.\n\
         \x20 Ctrl-C stops an answer or clears the line; press it twice, or Ctrl-D, to quit.\n\
         \x20 /mcp__SERVER__PROMPT sends a prompt, @SERVER:URI attaches a resource.\n\
         \x20 //text sends /text to the model.{DIM:#}\n"
    )
}

#[cfg(test)]
mod tests;
