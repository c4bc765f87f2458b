//! The result of a call: text on standard output, everything else in files.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mcp_client::content::{ContentBlock, Rendered, ToolOutcome, render};
use mcp_client::registry::RegisteredTool;
use serde_json::{Value, json};
use task_loop::Sanitizer;

use crate::config::private_folder;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::file_name::extension;
use crate::session::Session;

/// Prints the outcome; an error outcome makes the program fail.
pub(in crate::commands::mcp) fn show(
    tool: &RegisteredTool,
    outcome: &ToolOutcome,
    folder: Option<&Path>,
    shown: &Sanitizer,
    session: &Session,
) -> Result {
    if session.output.is_json() {
        session.output.json(&shown.json(as_json(tool, outcome)))?;
        return if outcome.is_error { Err(Diagnostic::already_reported()) } else { Ok(()) };
    }
    let Rendered { text, attachments, whole } = once(outcome, session);
    let mut files = Files { folder: folder.map(Path::to_owned), session };
    for (at, attachment) in attachments.iter().enumerate() {
        let name = format!("{}-{}.{}", tool.name, at + 1, extension(&attachment.mime));
        files.write(&name, &attachment.bytes, &format!("attachment {}", at + 1))?;
    }
    if let Some(whole) = whole {
        let whole = shown.whole(&whole);
        files.write(&format!("{}.txt", tool.name), whole.as_bytes(), "full text")?;
        session.output.note("The text was cut in the middle.");
    }
    let mut text = shown.whole(&text);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if outcome.is_error {
        let message = format!("{} reported an error", tool.name);
        return Err(Diagnostic::failed(message).causes(text.lines().map(str::to_owned)));
    }
    session.output.bytes(text.as_bytes())
}

/// The outcome as text. Beside text, structured content repeats it for programs, and is left
/// to `--json`.
fn once(outcome: &ToolOutcome, session: &Session) -> Rendered {
    let all = render(outcome);
    let is_text =
        |block: &ContentBlock| matches!(block, ContentBlock::Text(text) if !text.trim().is_empty());
    if !outcome.blocks.iter().any(is_text) {
        return all;
    }
    let text = render(&ToolOutcome { structured: None, ..outcome.clone() });
    if text.text != all.text {
        session.output.detail("the result also has structured content; show it with `--json`");
    }
    text
}

struct Files<'a> {
    folder: Option<PathBuf>,
    session: &'a Session,
}

impl Files<'_> {
    /// Writes a file under a free name, and prints its path.
    fn write(&mut self, name: &str, bytes: &[u8], what: &str) -> Result {
        let folder = self.folder()?;
        // Readable by its owner only: results of servers may be confidential.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "bin"));
        let mut path = folder.join(name);
        // Existing files are never overwritten.
        for copy in 2..=MAX_COPIES {
            match options.open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    path = folder.join(format!("{stem}-{copy}.{extension}"));
                }
                open => {
                    open.and_then(|mut open| open.write_all(bytes)).or_cannot("write", &path)?;
                    self.session.output.note(format!("{what}: {}", path.display()));
                    return Ok(());
                }
            }
        }
        Err(Diagnostic::failed(format!("{} has too many results", folder.display())))
    }

    fn folder(&mut self) -> Result<PathBuf> {
        if let Some(folder) = &self.folder {
            private_folder(folder).or_cannot("create", folder)?;
            return Ok(folder.clone());
        }
        let made = tempfile::Builder::new().prefix("agent-call-").tempdir();
        // It is kept: its path was printed.
        let path = made.or_failed("cannot create a temporary folder")?.keep();
        self.folder = Some(path.clone());
        Ok(path)
    }
}

const MAX_COPIES: u32 = 10_000;

fn as_json(tool: &RegisteredTool, outcome: &ToolOutcome) -> Value {
    json!({
        "tool": &*tool.name,
        "server": &*tool.server,
        "native_name": tool.native_name(),
        "is_error": outcome.is_error,
        "content": outcome.blocks.iter().map(block_json).collect::<Vec<_>>(),
        "structured": outcome.structured,
        "meta": outcome.meta,
    })
}

fn block_json(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => json!({ "type": "text", "text": text }),
        ContentBlock::Image { mime, base64 } => {
            json!({ "type": "image", "mime": mime, "data": base64 })
        }
        ContentBlock::Audio { mime, base64 } => {
            json!({ "type": "audio", "mime": mime, "data": base64 })
        }
        ContentBlock::EmbeddedText { uri, mime, text } => {
            json!({ "type": "resource", "uri": uri, "mime": mime, "text": text })
        }
        ContentBlock::EmbeddedBlob { uri, mime, base64 } => {
            json!({ "type": "resource", "uri": uri, "mime": mime, "blob": base64 })
        }
        ContentBlock::Link { uri, name, description, mime } => json!({
            "type": "resource_link",
            "uri": uri,
            "name": name,
            "description": description,
            "mime": mime,
        }),
        ContentBlock::Note(text) => json!({ "type": "note", "text": text }),
    }
}
