//! Results without the secrets we configured.

use std::borrow::Cow;

use serde_json::Value;

use super::{Block, ToolOutcome};
use crate::redact::Redactor;

impl ToolOutcome {
    /// The same result without any known secret. Only known values are taken out: a result is
    /// data, and a pattern that merely looks like a secret may be what was asked for.
    #[must_use]
    pub(crate) fn cleaned(mut self, redactor: &Redactor) -> Self {
        for block in &mut self.blocks {
            match block {
                Block::Text(text) | Block::Note(text) => clean(text, redactor),
                Block::EmbeddedText { uri, text, .. } => {
                    clean(uri, redactor);
                    clean(text, redactor);
                }
                Block::EmbeddedBlob { uri, .. } => clean(uri, redactor),
                Block::Link { uri, name, description, .. } => {
                    clean(uri, redactor);
                    clean(name, redactor);
                    if let Some(text) = description {
                        clean(text, redactor);
                    }
                }
                Block::Image { .. } | Block::Audio { .. } => {}
            }
        }
        for value in [&mut self.structured, &mut self.meta].into_iter().flatten() {
            clean_value(value, redactor);
        }
        self
    }
}

fn clean(text: &mut String, redactor: &Redactor) {
    if let Cow::Owned(clean) = redactor.clean_known(text) {
        *text = clean;
    }
}

/// Takes every known secret out of the texts of a value.
pub(crate) fn clean_value(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => clean(text, redactor),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, redactor)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| clean_value(value, redactor));
            if fields.keys().any(|key| matches!(redactor.clean_known(key), Cow::Owned(_))) {
                let all = std::mem::take(fields).into_iter();
                fields.extend(
                    all.map(|(key, value)| (redactor.clean_known(&key).into_owned(), value)),
                );
            }
        }
        _ => {}
    }
}
