//! A provider that is this process itself: its models are GGUF files on this machine.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// How the files of a provider are used.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Where files are looked for that have no path of their own.
    pub folder: PathBuf,
    /// The most tokens of a conversation with its answer.
    pub window: u32,
    /// How many answers of one file are computed at once.
    pub at_once: u32,
    /// How many more may wait.
    pub waiting: u32,
    /// The memory of a file is let go after so long without a request.
    pub idle: Duration,
    /// The first message of conversations that have no system message; without it, what the model
    /// itself has there.
    pub system: Option<String>,
    /// How answers are drawn where a request says nothing; 0 always takes the likeliest token.
    pub temperature: f32,
    /// Only the likeliest tokens that together are this likely are drawn from.
    pub top_p: f32,
    /// Above 1, tokens that came lately become less likely.
    pub repeat_penalty: f32,
}

/// The end of the names of files that are models.
pub const GGUF: &str = "gguf";

/// The temperatures that a request may ask for.
pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
/// The shares of likely tokens that a request may ask for.
pub const TOP_PS: RangeInclusive<f32> = 0.01..=1.0;
/// The penalties that a request may ask for.
pub const REPEAT_PENALTIES: RangeInclusive<f32> = 0.5..=2.0;
