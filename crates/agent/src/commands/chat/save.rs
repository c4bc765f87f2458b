//! `/save`: writes the conversation as Markdown to a new file.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::json;

use super::export::markdown;
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

/// Replaces `~/` by the home folder.
fn expanded(file: &str, chat: &ChatSession<'_>) -> PathBuf {
    match (file.strip_prefix("~/"), &chat.session.environment.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(file),
    }
}
