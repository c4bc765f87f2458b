//! Token counts, in the shape of chat completions.

use serde_json::{Value, json};

/// Usage of a completion, as reported by the upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens, including cache reads and writes.
    pub prompt_tokens: u64,
    /// Answer tokens, including thinking.
    pub completion_tokens: u64,
    pub cached_tokens: u64,
    pub cache_write_tokens: u64,
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Reads the `usage` object of a chat completion; missing counts are zero.
    pub fn of_chat(usage: &Value) -> Self {
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        Self {
            prompt_tokens: count("/prompt_tokens"),
            completion_tokens: count("/completion_tokens"),
            cached_tokens: count("/prompt_tokens_details/cached_tokens"),
            cache_write_tokens: count("/prompt_tokens_details/cache_write_tokens"),
            reasoning_tokens: count("/completion_tokens_details/reasoning_tokens"),
        }
    }

    /// Adds the usage of a further completion of the same answer.
    #[must_use]
    pub fn plus(self, later: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(later.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_add(later.completion_tokens),
            cached_tokens: self.cached_tokens.saturating_add(later.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(later.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(later.reasoning_tokens),
        }
    }

    /// Prompt and answer tokens.
    pub fn total_tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }

    pub fn to_chat(&self) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens(),
            "prompt_tokens_details": {
                "cached_tokens": self.cached_tokens,
                "cache_write_tokens": self.cache_write_tokens,
            },
            "completion_tokens_details": { "reasoning_tokens": self.reasoning_tokens },
        })
    }

    pub fn to_response(&self) -> Value {
        json!({
            "input_tokens": self.prompt_tokens,
            "input_tokens_details": {
                "cached_tokens": self.cached_tokens,
                "cache_write_tokens": self.cache_write_tokens,
            },
            "output_tokens": self.completion_tokens,
            "output_tokens_details": { "reasoning_tokens": self.reasoning_tokens },
            "total_tokens": self.total_tokens(),
        })
    }

    /// The `usage` object of a message, whose input excludes cached tokens.
    pub fn to_message(&self) -> Value {
        let cached = self.cached_tokens.saturating_add(self.cache_write_tokens);
        json!({
            "input_tokens": self.prompt_tokens.saturating_sub(cached),
            "cache_creation_input_tokens": self.cache_write_tokens,
            "cache_read_input_tokens": self.cached_tokens,
            "output_tokens": self.completion_tokens,
            "output_tokens_details": { "thinking_tokens": self.reasoning_tokens },
        })
    }
}
