//! `agent media run`: creates media, lists them, and downloads them if requested.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use task_loop::untrusted::printable;
use wire::capability::CapabilityList;
use wire::media::{Artifact, MediaRun};

use super::artifact;
use crate::diagnostic::{Diagnostic, Result};
use crate::download::OnConflict;
use crate::duration::moment;
use crate::key_value;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::prompt::standard_input;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Table, grouped};

const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Create an image from a prompt or speech from a text
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service keeps the result for a while and lists its URL, size and digest; --output downloads \
it. Several files are numbered: a.png, a-2.png.

Examples:
  agent media run openai/gpt-image-1 \"A lighthouse at dusk\" --output a.png
  agent media run espeak/en \"Hello.\" --option speed=0.9 --output hello.wav
  agent media run espeak/en - < speech.txt --output - | aplay")]
pub(crate) struct Args {
    /// Full model id from `agent media list`
    model: String,
    /// Prompt or text to speak; `-` reads stdin
    text: Vec<String>,
    /// Model option; the value is JSON or a string. Can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    option: Vec<String>,
    /// Save the result to this file; `-` is stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(super) fn run(args: &Args, session: &Session) -> Result {
    let target = Target::of(args)?;
    let options = key_value::object(&args.option, "option")?;
    let text = text(&args.text)?;
    let service = RetryingMember::find(session, args.waiting)?;
    block_on(async {
        let input = input(&service, &args.model, text, options).await?;
        let body = json!({ "model": args.model, "input": input });
        let answer = service.pay("/media/run", &body).await?;
        let made: MediaRun = service.read(&answer)?;
        let is_json = session.output.is_json();
        if is_json && target != Target::Output {
            service.print(&answer)?;
        }
        fetch(&service, &made, &target, session).await?;
        if !is_json {
            service.report_cost(&answer);
        }
        Ok(())
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// Nothing is downloaded.
    None,
    Output,
    File(PathBuf, OnConflict),
}

impl Target {
    /// Checked before anything is charged.
    fn of(args: &Args) -> Result<Self> {
        let Some(path) = &args.output else { return Ok(Self::None) };
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                return Err(Diagnostic::usage("standard output is a terminal")
                    .hint("write to a file or a pipe"));
            }
            return Ok(Self::Output);
        }
        let existing = if args.force { OnConflict::Replace } else { OnConflict::Keep };
        artifact::check(path, existing)?;
        Ok(Self::File(path.clone(), existing))
    }
}

fn text(words: &[String]) -> Result<Option<String>> {
    match words {
        [] => Ok(None),
        [one] if one == "-" => standard_input(MAX_TEXT_BYTES).map(Some),
        words => Ok(Some(words.join(" "))),
    }
}

/// The input of a model: its options, and the text under its input name.
async fn input(
    service: &RetryingMember<'_>,
    model: &str,
    text: Option<String>,
    mut options: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let Some(text) = text else {
        if options.contains_key("prompt") || options.contains_key("text") {
            return Ok(options);
        }
        return Err(Diagnostic::usage("missing prompt or text")
            .hint("pass it after the model, or pass `-` to read it from standard input"));
    };
    let able: CapabilityList = service.read(&service.get("/capabilities").await?)?;
    let speaks = |name: &str| {
        let capability = able.data.iter().find(|capability| capability.id == name);
        capability.is_some_and(|it| it.models.iter().any(|one| one.id == model))
    };
    // The service reports the error for a model that makes neither.
    let name = if speaks("speech") && !speaks("image") { "text" } else { "prompt" };
    if options.insert(name.to_owned(), Value::String(text)).is_some() {
        return Err(Diagnostic::usage(format!("`{name}` is also set as an option")));
    }
    Ok(options)
}

async fn fetch(
    service: &RetryingMember<'_>,
    made: &MediaRun,
    target: &Target,
    session: &Session,
) -> Result {
    let output = &session.output;
    match target {
        Target::None if output.is_json() => Ok(()),
        Target::None => {
            output.text(listed(&made.artifacts))?;
            output.note(format!(
                "{} is kept until {}",
                printable(&made.id),
                moment(&made.expires_at)
            ));
            for artifact in &made.artifacts {
                show(service, artifact, None, session).await?;
            }
            Ok(())
        }
        Target::Output => {
            let Some(first) = made.artifacts.first() else { return Err(nothing(made)) };
            let bytes = artifact::read(service, first).await?;
            output.bytes(&bytes)?;
            for other in made.artifacts.iter().skip(1) {
                output.note(format!("not written: {}", printable(&other.url)));
            }
            Ok(())
        }
        Target::File(path, existing) => {
            if made.artifacts.is_empty() {
                return Err(nothing(made));
            }
            for (number, artifact) in made.artifacts.iter().enumerate() {
                let path = artifact::numbered(path, number);
                let bytes = artifact::read(service, artifact).await?;
                let written = artifact::write(&path, &bytes, *existing);
                written.map_err(|diagnostic| {
                    let url = printable(&artifact.url);
                    diagnostic.hint(format!("it was created and is available at {url}"))
                })?;
                let (size, digest) = (grouped(artifact.bytes), printable(&artifact.sha256));
                output.note(format!("{}: {size} bytes, sha256 {digest}", path.display()));
                show(service, artifact, Some(bytes), session).await?;
            }
            Ok(())
        }
    }
}

fn nothing(made: &MediaRun) -> Diagnostic {
    Diagnostic::peer(format!("the service created no files in {}", printable(&made.id)))
}

fn listed(artifacts: &[Artifact]) -> String {
    let mut table = Table::new(["artifact", "type", "bytes"]).align_right(&["bytes"]);
    for artifact in artifacts {
        table.row([artifact.id.clone(), artifact.media_type.clone(), grouped(artifact.bytes)]);
    }
    table.with_below(artifacts.iter().map(|artifact| {
        let (url, digest) = (printable(&artifact.url), printable(&artifact.sha256));
        format!("  {url}\n  sha256 {digest}\n")
    }))
}

async fn show(
    service: &RetryingMember<'_>,
    artifact: &Artifact,
    bytes: Option<Bytes>,
    session: &Session,
) -> Result {
    let output = &session.output;
    let is_person = !output.is_json() && !output.is_quiet() && output.columns().is_some();
    let protocol = Protocol::of(&session.environment.all).filter(|_| is_person);
    let protocol = protocol.filter(|protocol| protocol.shows(&artifact.media_type));
    let Some(protocol) = protocol.filter(|_| artifact.bytes <= MAX_BYTES) else {
        return Ok(());
    };
    let bytes = match bytes {
        Some(bytes) => bytes,
        None => artifact::read(service, artifact).await?,
    };
    output.bytes(&protocol.sequence(&bytes))
}

const ROWS: usize = 12;
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum size of one chunk for kitty, in characters of base64.
const CHUNK: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Kitty,
    Iterm,
}

impl Protocol {
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Option<Self> {
        let is = |name: &str, value: &str| environment.get(name).is_some_and(|it| it == value);
        let has = |name: &str| environment.get(name).is_some_and(|it| !it.is_empty());
        if has("TMUX") || has("STY") {
            // A terminal multiplexer does not forward pictures.
            return None;
        }
        if has("KITTY_WINDOW_ID") || is("TERM", "xterm-kitty") || is("TERM_PROGRAM", "ghostty") {
            return Some(Self::Kitty);
        }
        let is_iterm = is("TERM_PROGRAM", "iTerm.app") || is("LC_TERMINAL", "iTerm2");
        (is_iterm || is("TERM_PROGRAM", "WezTerm")).then_some(Self::Iterm)
    }

    pub(super) fn shows(self, media_type: &str) -> bool {
        match self {
            Self::Kitty => media_type == "image/png",
            Self::Iterm => media_type.starts_with("image/"),
        }
    }

    pub(super) fn sequence(self, picture: &[u8]) -> Vec<u8> {
        let text = STANDARD.encode(picture);
        match self {
            Self::Iterm => format!(
                "\x1b]1337;File=inline=1;size={};height={ROWS};preserveAspectRatio=1:{text}\x07\n",
                picture.len()
            )
            .into_bytes(),
            Self::Kitty => {
                let mut sequence = Vec::new();
                let mut chunks = text.as_bytes().chunks(CHUNK).peekable();
                // Quiet: a response of the terminal would appear as typed input.
                let mut control = format!("a=T,f=100,r={ROWS},q=2,");
                while let Some(chunk) = chunks.next() {
                    let more = u8::from(chunks.peek().is_some());
                    sequence.extend(format!("\x1b_G{control}m={more};").into_bytes());
                    sequence.extend(chunk);
                    sequence.extend(b"\x1b\\");
                    control.clear();
                }
                sequence.push(b'\n');
                sequence
            }
        }
    }
}

#[cfg(test)]
mod tests;
