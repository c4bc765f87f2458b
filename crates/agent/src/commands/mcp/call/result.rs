//! What a call gave back: text on standard output, everything else in files.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_client::content::{Attachment, ContentBlock, Rendered, ToolOutcome, render};
use mcp_client::registry::RegisteredTool;
use serde_json::{Value, json};
use task_loop::Sanitizer;

use crate::diagnostic::{Diagnostic, Exit};
use crate::mcp::already_told;
use crate::session::Session;

/// Prints the outcome; one that says it is an error ends the program with a failure.
pub(in crate::commands::mcp) fn show(
    tool: &RegisteredTool,
    outcome: &ToolOutcome,
    folder: Option<&Path>,
    shown: &Sanitizer,
    session: &Session,
) -> Result<(), Diagnostic> {
    if session.output.is_json() {
        session.output.json(&shown.json(as_json(tool, outcome)))?;
        return if outcome.is_error { Err(already_told(Exit::Failed)) } else { Ok(()) };
    }
    let Rendered { text, attachments, whole } = once(outcome, session);
    let mut files = Files { folder: folder.map(Path::to_owned), session };
    for (at, attachment) in attachments.iter().enumerate() {
        let name = format!("{}-{}.{}", tool.name, at + 1, extension(attachment));
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

/// The outcome as text. Where there is text, structured content is the same for programs, and is
/// left to `--json`.
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
    /// Writes a file under a name that is free, and says where it is.
    fn write(&mut self, name: &str, bytes: &[u8], what: &str) -> Result<(), Diagnostic> {
        let folder = self.folder()?;
        let cannot = |path: &Path, error: &std::io::Error| {
            Diagnostic::failed(format!("cannot write {}", path.display())).because(error)
        };
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "bin"));
        let mut path = folder.join(name);
        // Existing files are never overwritten.
        for copy in 2..=MAX_COPIES {
            match private().open(&path) {
                Ok(mut open) => {
                    std::io::Write::write_all(&mut open, bytes)
                        .map_err(|error| cannot(&path, &error))?;
                    self.session.output.note(format!("{what}: {}", path.display()));
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    path = folder.join(format!("{stem}-{copy}.{extension}"));
                }
                Err(error) => return Err(cannot(&path, &error)),
            }
        }
        Err(Diagnostic::failed(format!("{} has too many results", folder.display())))
    }

    fn folder(&mut self) -> Result<PathBuf, Diagnostic> {
        if let Some(folder) = &self.folder {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder).map_err(|error| {
                Diagnostic::failed(format!("cannot create {}", folder.display())).because(&error)
            })?;
            return Ok(folder.clone());
        }
        let made = tempfile::Builder::new().prefix("agent-call-").tempdir();
        let made = made.map_err(|error| {
            Diagnostic::failed("cannot create a temporary folder").because(&error)
        })?;
        // It stays: its path was printed.
        let path = made.keep();
        self.folder = Some(path.clone());
        Ok(path)
    }
}

/// A new file for its owner alone: results of servers may be confidential.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

const MAX_COPIES: u32 = 10_000;

fn extension(attachment: &Attachment) -> &'static str {
    let mime = attachment.mime.split(';').next().unwrap_or_default().trim();
    match mime.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "text/plain" => "txt",
        "text/html" => "html",
        _ => "bin",
    }
}

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
