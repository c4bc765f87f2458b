//! Images, recordings and documents that a person attaches to a message.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use mcp_client::content::MAX_BLOB_BYTES;
use task_loop::Attacher;
use task_loop::attachment::Attachment;
use task_loop::model::Model;
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};

/// Image file extensions: typed paths with these are attached.
const IMAGE_ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
const MAX_PATHS: usize = 16;

pub(crate) async fn read(path: &Path, attacher: &Attacher) -> Result<Attachment> {
    let shown = printable(&path.display().to_string());
    let cannot = |error| Diagnostic::cannot_read(Exit::Usage, path, &error);
    // Opening a pipe would block until a writer opens it.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(Diagnostic::usage(format!("{shown} is not a file")));
    }
    let mut bytes = Vec::new();
    let most = MAX_BLOB_BYTES as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(cannot)?;
    let name = path.file_name().map(|name| printable(&name.to_string_lossy()));
    let refused = Diagnostic::usage(format!("cannot attach {shown}"))
        .hint("attach a PNG, JPEG, GIF or WebP image, a PDF file, or WAV or MP3 audio");
    let (attachment, _) = attacher.attach(&bytes, name).await.or_diagnostic(refused)?;
    Ok(attachment)
}

pub(crate) fn check(attachments: &[Attachment], model: &Model) -> Result {
    let refused = attachments.iter().find(|one| !model.accepts.contains(&one.kind));
    refused.map_or(Ok(()), |one| {
        let (id, kinds) = (printable(&model.id), one.kind.plural());
        Err(Diagnostic::usage(format!("{id} does not accept {kinds}"))
            .hint("choose another model with `--model`; see `agent models`"))
    })
}

/// The paths of images in a message, as terminals paste them: plain, in quotes, or with escaped
/// spaces. Relative paths count only with a `/`.
pub(crate) fn pasted(text: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let words = split_words(text).into_iter().filter(|word| {
        let word = word.to_ascii_lowercase();
        word.contains('/') && IMAGE_ENDINGS.iter().any(|ending| word.ends_with(ending))
    });
    let path = |word: String| {
        let word = word.strip_prefix("file://").unwrap_or(&word);
        match (word.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(word),
        }
    };
    words.take(MAX_PATHS).map(path).filter(|path| path.is_file()).collect()
}

/// The words of a text; quotes and backslashes keep spaces in a word.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\\') => word.extend(letters.next()),
            (Some(open), letter) if letter == open => {
                quote = None;
                words.push(std::mem::take(&mut word));
            }
            // An apostrophe inside a word starts no quotation.
            (None, '\'' | '"') if word.is_empty() || word.ends_with('=') => quote = Some(letter),
            (None, letter) if letter.is_whitespace() => words.push(std::mem::take(&mut word)),
            (_, letter) => word.push(letter),
        }
    }
    // A quote without a closing quote is literal.
    if quote.is_some() {
        words.extend(word.split_whitespace().map(str::to_owned));
    } else {
        words.push(word);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests;
