//! The usage of a task.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct TaskUsage {
    pub model_calls: u32,
    pub tool_calls: u32,
    pub retries: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// As reported by the service; may be incomplete.
    pub charge_micros: i64,
}

impl TaskUsage {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            model_calls: self.model_calls.saturating_add(other.model_calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            retries: self.retries.saturating_add(other.retries),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            charge_micros: self.charge_micros.saturating_add(other.charge_micros),
        }
    }
}
