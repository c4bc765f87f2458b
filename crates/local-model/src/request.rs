//! What is asked of a model, and what it gives back.

use crate::Problem;

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub messages: Vec<Message>,
    pub sampling: Sampling,
    /// Who asks: what was computed for one owner is never used for another.
    pub owner: String,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

/// How an answer is drawn; what is not given is as the model's [`Defaults`] say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    /// The most tokens of the answer; never more than the window has room for.
    pub max_tokens: Option<u32>,
    /// 0 always takes the likeliest token.
    pub temperature: Option<f32>,
    /// Only the likeliest tokens that together are this likely are drawn from.
    pub top_p: Option<f32>,
    /// The same seed gives the same text.
    pub seed: Option<u64>,
    /// The answer ends before the first of these.
    pub stop: Vec<String>,
    /// Above 1, tokens that came lately become less likely.
    pub repeat_penalty: Option<f32>,
    /// Taken once from tokens that were in the answer.
    pub presence_penalty: f32,
    /// Taken from tokens for each time they were in the answer.
    pub frequency_penalty: f32,
}

/// What holds where a request says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// The first message of conversations that have no system message.
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
    /// Words, at least one character.
    Text(String),
    End {
        reason: End,
        completion_tokens: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The model came to its end, or to a stop sequence.
    Stop,
    /// As many tokens as were allowed, or as the window has room for.
    Length,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    #[error("the prompt has {prompt} tokens, but the model's context window has only {window}")]
    TooLong { prompt: usize, window: usize },
    /// The model's chat template does not take this conversation; the words are the template's.
    #[error("the model's chat template rejected this conversation: {0}")]
    Template(String),
    #[error("the request queue is full")]
    Busy,
    #[error(transparent)]
    Broken(#[from] Problem),
}
