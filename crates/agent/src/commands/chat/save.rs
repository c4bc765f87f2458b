//! `/save`: the conversation as Markdown, in a file that was not there before.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::json;
use task_loop::conversation::{Call, Message};

use super::session::ChatSession;
use super::show;
use crate::diagnostic::Diagnostic;

pub(super) fn run(chat: &ChatSession<'_>, file: &str) -> Result<(), Diagnostic> {
    let id = chat.record.id();
    let path = match file {
        "" => PathBuf::from(format!("chat-{id}.md")),
        file => expanded(file, chat),
    };
    let shown = path.display();
    let text = markdown(&id, &chat.model.id, chat.conversation.messages());
    let text = chat.setup.fleet.shown.whole(&text);
    let mut options = fs::OpenOptions::new();
    options.create_new(true).write(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let is_there = error.kind() == io::ErrorKind::AlreadyExists;
        let diagnostic = Diagnostic::failed(format!("cannot write {shown}")).because(&error);
        if is_there {
            diagnostic.hint("existing files are not overwritten; choose another name")
        } else {
            diagnostic
        }
    })?;
    if chat.output().is_json() {
        return show::told(chat, json!({"type": "saved", "path": path}));
    }
    chat.output().note(format!("saved to {shown}"));
    Ok(())
}

/// `~/` is the person's folder.
fn expanded(file: &str, chat: &ChatSession<'_>) -> PathBuf {
    match (file.strip_prefix("~/"), &chat.session.environment.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(file),
    }
}

pub(super) fn markdown(id: &str, model: &str, messages: &[Message]) -> String {
    let mut text = format!("# Conversation {id}\n\nModel: {model}\n");
    for message in messages {
        text.push_str(&match message {
            Message::System { .. } => continue,
            Message::User { text, .. } => format!("\n## You\n\n{}\n", text.trim_end()),
            Message::Assistant { text, calls } => {
                let calls: String = calls.iter().map(call).collect();
                let said = text.trim_end();
                let gap = if said.is_empty() { "" } else { "\n" };
                format!("\n## Agent\n{gap}{said}{gap}{calls}")
            }
            Message::Tool { name, text, .. } => {
                format!("\n### Result of `{name}`\n\n{}", fenced(text, ""))
            }
        });
        for attachment in message.attachments() {
            text.push_str(&format!("\nAttachment: {attachment}\n"));
        }
    }
    text
}

fn call(call: &Call) -> String {
    format!("\nCalls `{}`:\n\n{}", call.name, fenced(&call.arguments, "json"))
}

/// A block that ends only where it should.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests;
