//! A chat request to a local model.
//! Unsupported features are rejected by name. Unknown fields are ignored, as by other servers.

use std::ops::RangeInclusive;

use local_model::{Message, Request, Sampling};
use serde_json::{Map, Value};
use wire::error::Code;

use super::answer::Form;
use crate::config::{REPEAT_PENALTIES, TEMPERATURES, TOP_PS};
use crate::failure::{ApiError, ApiResult};
use crate::provider::Owner;

/// Maximum stop sequences, and their maximum length in bytes.
const MAX_STOPS: usize = 4;
const MAX_STOP_BYTES: usize = 256;
const PENALTIES: RangeInclusive<f32> = -2.0..=2.0;
const NO_TOOLS: &str = "this model does not support tools";
const TEXT_ONLY: &str = "this model accepts text only";

const TEXT_ANSWERS: &str = "this model returns `text` only";
const NO_PROBABILITIES: &str = "this model does not support log probabilities";

/// Whether a value changes nothing.
type NoEffect = fn(&Value) -> bool;

/// Fields that are rejected unless they change nothing, and why.
const UNSUPPORTED: [(&str, NoEffect, &str); 7] = [
    ("n", |n| n.as_u64() == Some(1), "this model returns one choice: `n` must be 1"),
    ("response_format", |format| format["type"] == "text", TEXT_ANSWERS),
    ("logprobs", is_off, NO_PROBABILITIES),
    ("top_logprobs", is_off, NO_PROBABILITIES),
    (
        "logit_bias",
        |bias| bias.as_object().is_some_and(Map::is_empty),
        "this model does not support `logit_bias`",
    ),
    (
        "modalities",
        |all| all.as_array().is_some_and(|all| all.iter().all(|one| one == "text")),
        TEXT_ANSWERS,
    ),
    ("audio", |_| false, "this model does not support audio"),
];

pub(super) struct Question {
    pub(super) request: Request,
    pub(super) form: Form,
}

type Fields = Map<String, Value>;

impl Question {
    pub(super) fn parse(body: &[u8], owner: Owner) -> ApiResult<Self> {
        let fields: Fields = serde_json::from_slice(body)
            .map_err(|_| ApiError::new(Code::InvalidJson, "the body is not a JSON object"))?;
        refuse_what_it_cannot(&fields)?;
        let usage = present(&fields, "stream_options").and_then(|all| all.get("include_usage"));
        Ok(Self {
            request: Request {
                messages: messages(&fields)?,
                sampling: sampling(&fields)?,
                owner: owner_label(owner),
            },
            form: Form {
                model: present(&fields, "model")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                is_streamed: present(&fields, "stream") == Some(&Value::Bool(true)),
                tells_usage: usage == Some(&Value::Bool(true)),
            },
        })
    }
}

fn owner_label(owner: Owner) -> String {
    match owner {
        Owner::Member(member) => member.to_string(),
        Owner::Operator => "operator".to_owned(),
    }
}

/// The value of a field; `null` counts as absent.
fn present<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn wrong(param: impl Into<String>, message: impl Into<String>) -> ApiError {
    ApiError::invalid(param, message)
}

fn refuse_what_it_cannot(fields: &Fields) -> ApiResult<()> {
    let is_none = |name| present(fields, name).is_none_or(|choice| choice == "none");
    for choice in ["tool_choice", "function_call"] {
        if !is_none(choice) {
            return Err(wrong(choice, NO_TOOLS));
        }
    }
    for (list, choice) in [("tools", "tool_choice"), ("functions", "function_call")] {
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        // Tools that must not be called are ignored.
        let is_idle = present(fields, choice).is_some();
        if present(fields, list).is_some_and(|value| !is_empty(value)) && !is_idle {
            return Err(wrong(list, NO_TOOLS));
        }
    }
    for (name, changes_nothing, message) in UNSUPPORTED {
        if present(fields, name).is_some_and(|value| !changes_nothing(value)) {
            return Err(wrong(name, message));
        }
    }
    Ok(())
}

fn is_off(value: &Value) -> bool {
    *value == Value::Bool(false) || value.as_u64() == Some(0)
}

fn messages(fields: &Fields) -> ApiResult<Vec<Message>> {
    let list = present(fields, "messages").and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| wrong("messages", "`messages` must be a list of messages"))?;
    list.iter().enumerate().map(|(at, message)| turn(message, &format!("messages[{at}]"))).collect()
}

fn turn(message: &Value, place: &str) -> ApiResult<Message> {
    let Some(fields) = message.as_object() else {
        return Err(wrong(place, format!("`{place}` must be an object")));
    };
    let role = match present(fields, "role").and_then(Value::as_str) {
        Some("system" | "developer") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        Some("tool" | "function") => return Err(wrong(format!("{place}.role"), NO_TOOLS)),
        _ => {
            let message =
                format!("`{place}.role` must be `system`, `developer`, `user` or `assistant`");
            return Err(wrong(format!("{place}.role"), message));
        }
    };
    for call in ["tool_calls", "function_call"] {
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        if present(fields, call).is_some_and(|value| !is_empty(value)) {
            return Err(wrong(format!("{place}.{call}"), NO_TOOLS));
        }
    }
    let place = format!("{place}.content");
    let content = match present(fields, "content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().enumerate();
            parts
                .map(|(at, part)| text_of(part, &format!("{place}[{at}]")))
                .collect::<Result<_, _>>()?
        }
        // A message without text is allowed.
        None if role == "assistant" => String::new(),
        _ => return Err(wrong(&place, format!("`{place}` must be a string or a list of parts"))),
    };
    Ok(Message { role: role.to_owned(), content })
}

fn text_of(part: &Value, place: &str) -> ApiResult<String> {
    let kind = part.get("type").and_then(Value::as_str);
    let text = match kind {
        Some("text" | "input_text" | "output_text") => part.get("text"),
        Some("refusal") => part.get("refusal"),
        Some(_) => return Err(wrong(place, TEXT_ONLY)),
        None => None,
    };
    let text = text.and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| wrong(place, format!("`{place}` has no text")))
}

fn sampling(fields: &Fields) -> ApiResult<Sampling> {
    let most = |name| at_least_one(fields, name);
    let max_tokens = [most("max_tokens")?, most("max_completion_tokens")?];
    let top_p = number(fields, "top_p", &(0.0..=*TOP_PS.end()))?;
    let penalty = number(fields, "repeat_penalty", &REPEAT_PENALTIES)?;
    let same = number(fields, "repetition_penalty", &REPEAT_PENALTIES)?;
    Ok(Sampling {
        max_tokens: max_tokens.into_iter().flatten().min(),
        temperature: number(fields, "temperature", &TEMPERATURES)?,
        // Zero means the most likely token only.
        top_p: top_p.map(|top_p| top_p.max(*TOP_PS.start())),
        seed: seed(fields)?,
        stop: stops(fields)?,
        repeat_penalty: penalty.or(same),
        presence_penalty: number(fields, "presence_penalty", &PENALTIES)?.unwrap_or_default(),
        frequency_penalty: number(fields, "frequency_penalty", &PENALTIES)?.unwrap_or_default(),
    })
}

/// A whole number of at least 1, capped at the largest value.
fn at_least_one(fields: &Fields, name: &str) -> ApiResult<Option<u32>> {
    let Some(value) = present(fields, name) else { return Ok(None) };
    let count = value.as_u64().filter(|count| *count > 0);
    let count = count
        .ok_or_else(|| wrong(name, format!("`{name}` must be a whole number of at least 1")))?;
    Ok(Some(u32::try_from(count).unwrap_or(u32::MAX)))
}

fn number(fields: &Fields, name: &str, bounds: &RangeInclusive<f32>) -> ApiResult<Option<f32>> {
    let Some(value) = present(fields, name) else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, reason = "no more digits are needed")]
    let found = value.as_f64().map(|value| value as f32).filter(|value| bounds.contains(value));
    let (least, most) = (bounds.start(), bounds.end());
    let message = || format!("`{name}` must be a number from {least} to {most}");
    found.map(Some).ok_or_else(|| wrong(name, message()))
}

fn seed(fields: &Fields) -> ApiResult<Option<u64>> {
    let Some(value) = present(fields, "seed") else { return Ok(None) };
    let seed = value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
    seed.map(Some).ok_or_else(|| wrong("seed", "`seed` must be a whole number"))
}

fn stops(fields: &Fields) -> ApiResult<Vec<String>> {
    let list = match present(fields, "stop") {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect(),
        Some(value) => value.as_str().map(|text| vec![text]),
    };
    let is_good = |list: &Vec<&str>| {
        let is_length = |text: &&str| (1..=MAX_STOP_BYTES).contains(&text.len());
        list.len() <= MAX_STOPS && list.iter().all(is_length)
    };
    let list = list.filter(is_good).ok_or_else(|| {
        let message = format!(
            "`stop` must be a string or a list of up to {MAX_STOPS} strings, each 1 to \
             {MAX_STOP_BYTES} bytes long"
        );
        wrong("stop", message)
    })?;
    Ok(list.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
