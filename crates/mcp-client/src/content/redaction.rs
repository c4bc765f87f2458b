//! Redaction of known secrets in results.

use std::borrow::Cow;

use serde_json::Value;

use super::{ContentBlock, ToolOutcome};
use crate::redact::Redactor;

impl ToolOutcome {
    /// Redacts known secrets only: a result is data, and text that merely looks like a secret may
    /// be what the caller asked for.
    #[must_use]
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> Self {
        for block in &mut self.blocks {
            let texts = match block {
                ContentBlock::Text(text) | ContentBlock::Note(text) => vec![text],
                ContentBlock::EmbeddedText { uri, text, .. } => vec![uri, text],
                ContentBlock::EmbeddedBlob { uri, .. } => vec![uri],
                ContentBlock::Link { uri, name, description, .. } => {
                    [uri, name].into_iter().chain(description).collect()
                }
                ContentBlock::Image { .. } | ContentBlock::Audio { .. } => Vec::new(),
            };
            for text in texts {
                redact_text(text, redactor);
            }
        }
        for value in [&mut self.structured, &mut self.meta].into_iter().flatten() {
            redact_value(value, redactor);
        }
        self
    }
}

fn redact_text(text: &mut String, redactor: &Redactor) {
    if let Cow::Owned(redact_text) = redactor.redact_known(text) {
        *text = redact_text;
    }
}

pub(crate) fn redact_value(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => redact_text(text, redactor),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(item, redactor)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| redact_value(value, redactor));
            if fields.keys().any(|key| matches!(redactor.redact_known(key), Cow::Owned(_))) {
                let all = std::mem::take(fields).into_iter();
                fields.extend(
                    all.map(|(key, value)| (redactor.redact_known(&key).into_owned(), value)),
                );
            }
        }
        _ => {}
    }
}
