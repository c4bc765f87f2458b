//! Requests to a model and their results.

use crate::Problem;

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub messages: Vec<Message>,
    pub sampling: Sampling,
    /// The owner: cached state is never shared between owners.
    pub owner: String,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

/// Sampling settings; missing ones are taken from the model's [`Defaults`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    /// Maximum tokens of the answer, capped at the rest of the window.
    pub max_tokens: Option<u32>,
    /// 0 always takes the most likely token.
    pub temperature: Option<f32>,
    /// Nucleus sampling: total probability of the candidates.
    pub top_p: Option<f32>,
    /// The same seed produces the same text.
    pub seed: Option<u64>,
    /// The answer ends before the first of these.
    pub stop: Vec<String>,
    /// Above 1, recent tokens become less likely.
    pub repeat_penalty: Option<f32>,
    /// Subtracted once from tokens that occur in the answer.
    pub presence_penalty: f32,
    /// Subtracted from tokens for each occurrence in the answer.
    pub frequency_penalty: f32,
}

/// Defaults of missing request fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// System message of conversations without one.
    pub system: Option<String>,
    pub temperature: f32,
    pub top_p: f32,
    pub repeat_penalty: f32,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { system: None, temperature: 0.2, top_p: 0.95, repeat_penalty: 1.1 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text of at least one character.
    Text(String),
    End {
        reason: End,
        completion_tokens: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The model ended the answer, or wrote a stop sequence.
    Stop,
    /// The token limit or the window was reached.
    Length,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    #[error("the prompt has {prompt} tokens, but the model's context window has only {window}")]
    TooLong { prompt: usize, window: usize },
    /// The chat template rejects this conversation; the message is the template's.
    #[error("the model's chat template rejected this conversation: {0}")]
    Template(String),
    #[error("the request queue is full")]
    Busy,
    #[error(transparent)]
    Broken(#[from] Problem),
}
