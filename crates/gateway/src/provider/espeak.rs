//! Speech by the program espeak-ng: text on its standard input, a WAV file on its standard output.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::Provider;
use super::failure::Failure;
use crate::config::{self, Capability};

const MAX_LOOK: Duration = Duration::from_secs(5);
const MAX_LIST_BYTES: u64 = 1024 * 1024;
/// Default pace, in words per minute.
const USUAL_PACE: f64 = 175.0;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speech {
    pub(crate) text: String,
    /// A factor of the normal pace.
    pub(crate) speed: f64,
    /// From 0 to 99.
    pub(crate) pitch: u8,
}

/// Speaks a text. Dropping the future kills the program.
pub(crate) async fn speak(
    provider: &Provider,
    voice: &str,
    speech: &Speech,
    max_bytes: u64,
) -> Result<Bytes, Failure> {
    let _slot = provider.slot()?;
    let program =
        provider.program.as_deref().ok_or_else(|| unreachable("no program is configured"))?;
    // The command line contains only our numbers, no member input.
    let pace = (USUAL_PACE * speech.speed).round().to_string();
    let arguments =
        ["--stdin", "--stdout", "-v", voice, "-s", &pace, "-p", &speech.pitch.to_string()];
    let work = run(program, &arguments, speech.text.as_bytes(), max_bytes);
    let sound = timeout(provider.timeouts.first_byte, work)
        .await
        .map_err(|_| Failure::Gone("the response timed out"))??;
    Ok(with_lengths(sound).into())
}

/// The voices of the program as models, or why it is unusable.
pub(crate) async fn voices(program: &Path) -> Result<Vec<config::Model>, String> {
    let work = run(program, &["--voices"], b"", MAX_LIST_BYTES);
    let list = timeout(MAX_LOOK, work).await.map_err(|_| "it does not respond".to_owned())?;
    let list = list.map_err(|failure| failure.cause().unwrap_or(failure.as_str()).to_owned())?;
    let list = String::from_utf8_lossy(&list);
    let mut voices: Vec<config::Model> = Vec::new();
    for line in list.lines().skip(1) {
        let mut words = line.split_whitespace();
        let (Some(id), name) = (words.nth(1), words.nth(1)) else { continue };
        if voices.iter().any(|known| known.id == id) || voices.len() == config::MAX_MODELS {
            continue;
        }
        voices.push(config::Model {
            capabilities: vec![Capability::Speech],
            description: name.map(|name| name.replace('_', " ")),
            ..config::Model::new(id)
        });
    }
    if voices.is_empty() { Err("it lists no voices".to_owned()) } else { Ok(voices) }
}

/// Runs the program and returns its output. Dropping the future kills it.
async fn run(
    program: &Path,
    arguments: &[&str],
    input: &[u8],
    max_bytes: u64,
) -> Result<Vec<u8>, Failure> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| unreachable(&format!("{}: {error}", program.display())))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(unreachable("cannot open its pipes"));
    };
    let writing = async move {
        // If it exits without reading, its status is the reason.
        let _ = stdin.write_all(input).await;
        let _ = stdin.shutdown().await;
    };
    let mut output = Vec::new();
    let mut stdout = stdout.take(max_bytes + 1);
    let ((), read) = tokio::join!(writing, stdout.read_to_end(&mut output));
    read.map_err(|_| Failure::Gone("reading its output failed"))?;
    if output.len() as u64 > max_bytes {
        return Err(Failure::Malformed("its output is too large"));
    }
    let status = child.wait().await.map_err(|_| Failure::Gone("waiting for the program failed"))?;
    if status.success() { Ok(output) } else { Err(Failure::Malformed("the program failed")) }
}

fn unreachable(cause: &str) -> Failure {
    Failure::Unreachable { cause: cause.to_owned() }
}

/// Corrects the lengths in the WAV header, which were unknown when it was written to the pipe.
fn with_lengths(mut sound: Vec<u8>) -> Vec<u8> {
    const HEAD: usize = 44;
    let lengths = (u32::try_from(sound.len().wrapping_sub(8)), sound.len().checked_sub(HEAD));
    if let (Ok(whole), Some(data)) = lengths
        && sound.get(36..40) == Some(b"data")
        && let Ok(data) = u32::try_from(data)
    {
        sound[4..8].copy_from_slice(&whole.to_le_bytes());
        sound[40..44].copy_from_slice(&data.to_le_bytes());
    }
    sound
}
