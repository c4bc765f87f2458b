//! `KEY=VALUE` options: a value that is valid JSON is parsed, any other is a string.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Result};

/// All pairs as an object; `noun` names one of them.
pub(crate) fn object(pairs: &[String], noun: &str) -> Result<Map<String, Value>> {
    let mut object = Map::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Diagnostic::usage(format!(
                "expected KEY=VALUE, found `{}`",
                printable(pair)
            )));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        if object.insert(key.to_owned(), value).is_some() {
            let key = printable(key);
            return Err(Diagnostic::usage(format!("the {noun} `{key}` is set twice")));
        }
    }
    Ok(object)
}

/// Accepts these words, which are the values of an enum in JSON.
pub(crate) fn words<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    known: impl Into<PossibleValuesParser>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known).try_map(|word| serde_json::from_value(Value::String(word)))
}

#[cfg(test)]
mod tests;
