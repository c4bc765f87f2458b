//! One file that answers: loaded on first use, shared by so many at once, let go when idle.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::{Defaults, Piece, Problem, Refusal, Request};

/// How a file is used.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The GGUF file.
    pub path: PathBuf,
    /// The most tokens of a conversation with its answer; never more than the model was made for.
    pub window: u32,
    /// How many answers are computed at once.
    pub at_once: usize,
    /// How many more may wait.
    pub waiting: usize,
    /// Its memory is let go after so long without a request.
    pub idle: Duration,
    /// What holds where a request says nothing.
    pub defaults: Defaults,
}

/// A file that answers.
#[derive(Debug)]
pub struct Host {
    settings: Settings,
}

/// What a host has in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The weights; 0 unless they are loaded.
    pub weights_bytes: u64,
    /// What is kept of conversations.
    pub conversations_bytes: u64,
}

/// An answer as it is made. Dropping it stops the work within one token.
#[derive(Debug)]
pub struct Generation {
    /// How long the prompt is.
    pub prompt_tokens: u32,
    /// How much of it had been computed for the turn before.
    pub cached_tokens: u32,
    pieces: mpsc::UnboundedReceiver<Result<Piece, Problem>>,
}

impl Host {
    /// A host that has not loaded its file.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// What it has in memory.
    pub fn memory(&self) -> Memory {
        Memory { weights_bytes: 0, conversations_bytes: 0 }
    }

    /// Waits for its turn, loads the file if need be, and begins an answer.
    pub async fn generate(&self, _request: Request) -> Result<Generation, Refusal> {
        Err(Refusal::Broken(Problem::new(format!(
            "{} is not loaded",
            self.settings.path.display()
        ))))
    }
}

impl Generation {
    /// The next part; the last is [`Piece::End`].
    pub async fn next(&mut self) -> Option<Result<Piece, Problem>> {
        self.pieces.recv().await
    }
}
