//! A chat request to a local model.
//! || Unsupported features are rejected by name. Unknown fields are ignored, as by other servers.

use std::ops::RangeInclusive;

use local_model::{Message, Request, Sampling};
use serde_json::{Map, Value};
use wire::error::Code;

use super::answer::Form;
use crate::config::{REPEAT_PENALTIES, TEMPERATURES, TOP_PS};
use crate::failure::ApiError;
use crate::provider::Owner;

/// The most stop sequences of a request, and the longest, in bytes.
const MAX_STOPS: usize = 4;
const MAX_STOP_BYTES: usize = 256;
/// The range of presence and frequency penalties.
const PENALTIES: RangeInclusive<f32> = -2.0..=2.0;
const NO_TOOLS: &str = "this model cannot use tools";
const TEXT_ONLY: &str = "this model reads text only";

/// A parsed request.
pub(super) struct Question {
    pub(super) model: String,
    pub(super) request: Request,
    is_streamed: bool,
    tells_usage: bool,
}

type Fields = Map<String, Value>;

impl Question {
    pub(super) fn parse(body: &[u8], owner: Owner) -> Result<Self, ApiError> {
        let fields: Fields = serde_json::from_slice(body)
            .map_err(|_| ApiError::new(Code::InvalidJson, "the body is not a JSON object"))?;
        refuse_what_it_cannot(&fields)?;
        let usage = given(&fields, "stream_options").and_then(|all| all.get("include_usage"));
        Ok(Self {
            model: given(&fields, "model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            is_streamed: given(&fields, "stream") == Some(&Value::Bool(true)),
            tells_usage: usage == Some(&Value::Bool(true)),
            request: Request {
                messages: messages(&fields)?,
                sampling: sampling(&fields)?,
                owner: word(owner),
            },
        })
    }

    /// The requested form of the answer.
    pub(super) fn form(&self) -> Form {
        Form {
            model: self.model.clone(),
            is_streamed: self.is_streamed,
            tells_usage: self.tells_usage,
        }
    }
}

/// The cache key of an owner.
fn word(owner: Owner) -> String {
    match owner {
        Owner::Member(member) => member.to_string(),
        Owner::Operator => "operator".to_owned(),
    }
}

/// The value of a field; `null` counts as absent.
fn given<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn wrong(param: impl Into<String>, message: impl Into<String>) -> ApiError {
    ApiError::of_param(Code::InvalidRequest, param, message)
}

fn refuse_what_it_cannot(fields: &Fields) -> Result<(), ApiError> {
    let is_none = |name| given(fields, name).is_none_or(|choice| choice == "none");
    for choice in ["tool_choice", "function_call"] {
        if !is_none(choice) {
            return Err(wrong(choice, NO_TOOLS));
        }
    }
    for (list, choice) in [("tools", "tool_choice"), ("functions", "function_call")] {
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        // Tools that must not be called are ignored.
        let is_idle = given(fields, choice).is_some();
        if given(fields, list).is_some_and(|value| !is_empty(value)) && !is_idle {
            return Err(wrong(list, NO_TOOLS));
        }
    }
    let wants_one = |value: &Value| value.as_u64() == Some(1);
    if given(fields, "n").is_some_and(|value| !wants_one(value)) {
        return Err(wrong("n", "this model gives one answer: `n` must be 1"));
    }
    let is_text = |value: &Value| value.get("type").is_some_and(|kind| kind == "text");
    if given(fields, "response_format").is_some_and(|value| !is_text(value)) {
        return Err(wrong("response_format", "this model answers with `text` only"));
    }
    let is_off = |value: &Value| *value == Value::Bool(false) || value.as_u64() == Some(0);
    for name in ["logprobs", "top_logprobs"] {
        if given(fields, name).is_some_and(|value| !is_off(value)) {
            return Err(wrong(name, "this model does not tell how likely its words are"));
        }
    }
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    if given(fields, "logit_bias").is_some_and(|value| !is_empty(value)) {
        return Err(wrong("logit_bias", "this model takes no `logit_bias`"));
    }
    let is_only_text =
        |value: &Value| value.as_array().is_some_and(|all| all.iter().all(|one| one == "text"));
    if given(fields, "modalities").is_some_and(|value| !is_only_text(value)) {
        return Err(wrong("modalities", "this model answers with `text` only"));
    }
    if given(fields, "audio").is_some() {
        return Err(wrong("audio", "this model does not speak"));
    }
    Ok(())
}

fn messages(fields: &Fields) -> Result<Vec<Message>, ApiError> {
    let list = given(fields, "messages").and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| wrong("messages", "`messages` must be a list of messages"))?;
    list.iter().enumerate().map(|(at, message)| turn(message, &format!("messages[{at}]"))).collect()
}

fn turn(message: &Value, place: &str) -> Result<Message, ApiError> {
    let Some(fields) = message.as_object() else {
        return Err(wrong(place, format!("`{place}` must be an object")));
    };
    let role = match given(fields, "role").and_then(Value::as_str) {
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
        if given(fields, call).is_some_and(|value| !is_empty(value)) {
            return Err(wrong(format!("{place}.{call}"), NO_TOOLS));
        }
    }
    let place = format!("{place}.content");
    let content = match given(fields, "content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().enumerate();
            parts
                .map(|(at, part)| text_of(part, &format!("{place}[{at}]")))
                .collect::<Result<_, _>>()?
        }
        // A message without text is allowed.
        None if role == "assistant" => String::new(),
        _ => return Err(wrong(&place, format!("`{place}` must be a text or a list of parts"))),
    };
    Ok(Message { role: role.to_owned(), content })
}

/// The text of a part of a message.
fn text_of(part: &Value, place: &str) -> Result<String, ApiError> {
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

fn sampling(fields: &Fields) -> Result<Sampling, ApiError> {
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
fn at_least_one(fields: &Fields, name: &str) -> Result<Option<u32>, ApiError> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let count = value.as_u64().filter(|count| *count > 0);
    let count = count
        .ok_or_else(|| wrong(name, format!("`{name}` must be a whole number of at least 1")))?;
    Ok(Some(u32::try_from(count).unwrap_or(u32::MAX)))
}

fn number(
    fields: &Fields,
    name: &str,
    bounds: &RangeInclusive<f32>,
) -> Result<Option<f32>, ApiError> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, reason = "no more digits are needed")]
    let found = value.as_f64().map(|value| value as f32).filter(|value| bounds.contains(value));
    let (least, most) = (bounds.start(), bounds.end());
    let message = || format!("`{name}` must be a number from {least} to {most}");
    found.map(Some).ok_or_else(|| wrong(name, message()))
}

fn seed(fields: &Fields) -> Result<Option<u64>, ApiError> {
    let Some(value) = given(fields, "seed") else { return Ok(None) };
    let seed = value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
    seed.map(Some).ok_or_else(|| wrong("seed", "`seed` must be a whole number"))
}

fn stops(fields: &Fields) -> Result<Vec<String>, ApiError> {
    let list = match given(fields, "stop") {
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
            "`stop` must be a text or up to {MAX_STOPS} texts, each of 1 to {MAX_STOP_BYTES} bytes"
        );
        wrong("stop", message)
    })?;
    Ok(list.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(more: &Value) -> Result<Question, ApiError> {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        Question::parse(body.to_string().as_bytes(), Owner::Operator)
    }

    #[track_caller]
    fn refused(more: &Value) -> (String, String) {
        let error = parse(more).err().unwrap_or_else(|| panic!("{more} was taken")).body().error;
        assert_eq!(error.code.as_deref(), Some("invalid_request"));
        (error.param.unwrap(), error.message)
    }

    #[test]
    fn all_supported_fields_are_parsed() {
        let question = parse(&json!({
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [
                    {"type": "text", "text": "What is "}, {"type": "text", "text": "this?"},
                ]},
                {"role": "assistant", "content": null},
                {"role": "user", "name": "ada", "content": ""},
            ],
            "max_tokens": 7, "max_completion_tokens": 5, "temperature": 0, "top_p": 0, "seed": -1,
            "stop": ["a", "b"], "presence_penalty": -2, "frequency_penalty": 0.5,
            "repetition_penalty": 1.25, "stream": true, "stream_options": {"include_usage": true},
            "user": "somebody", "store": false, "n": 1, "tools": [], "tool_choice": "none",
            "response_format": {"type": "text"}, "logprobs": false, "logit_bias": {},
            "modalities": ["text"],
        }));
        let Question { model, request, is_streamed, tells_usage } = question.unwrap();
        assert_eq!((model.as_str(), is_streamed, tells_usage), ("m", true, true));
        let turns: Vec<(&str, &str)> =
            request.messages.iter().map(|turn| (&*turn.role, &*turn.content)).collect();
        let expected =
            [("system", "Be brief."), ("user", "What is this?"), ("assistant", ""), ("user", "")];
        assert_eq!(turns, expected);
        let sampling = Sampling {
            max_tokens: Some(5),
            temperature: Some(0.0),
            top_p: Some(0.01),
            seed: Some(u64::MAX),
            stop: vec!["a".to_owned(), "b".to_owned()],
            repeat_penalty: Some(1.25),
            presence_penalty: -2.0,
            frequency_penalty: 0.5,
        };
        assert_eq!(request.sampling, sampling);
    }

    #[test]
    fn null_and_nothing_are_the_same() {
        let names = ["max_tokens", "temperature", "seed", "stop", "tools", "n", "logprobs"];
        let nulls = names.map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
        let question = parse(&Value::Object(nulls)).unwrap();
        assert_eq!(question.request.sampling, Sampling::default());
        assert!(!question.is_streamed && !question.tells_usage);
    }

    #[test]
    fn tools_are_refused_unless_none_may_be_called() {
        let tools = json!([{"type": "function", "function": {"name": "f"}}]);
        assert_eq!(refused(&json!({"tools": tools})), ("tools".to_owned(), NO_TOOLS.to_owned()));
        assert_eq!(refused(&json!({"functions": [{"name": "f"}]})).0, "functions");
        assert_eq!(refused(&json!({"tool_choice": "auto"})).0, "tool_choice");
        assert_eq!(refused(&json!({"tools": tools, "tool_choice": "required"})).0, "tool_choice");
        assert!(parse(&json!({"tools": tools, "tool_choice": "none"})).is_ok());
        let call = json!([{"id": "1", "type": "function"}]);
        let said = json!({"messages": [{"role": "assistant", "tool_calls": call}]});
        assert_eq!(refused(&said).0, "messages[0].tool_calls");
        let result = json!({"messages": [{"role": "tool", "content": "x"}]});
        assert_eq!(refused(&result), ("messages[0].role".to_owned(), NO_TOOLS.to_owned()));
    }

    #[test]
    fn unsupported_features_are_refused_by_name() {
        for (more, param) in [
            (json!({"n": 2}), "n"),
            (json!({"n": 0}), "n"),
            (json!({"response_format": {"type": "json_object"}}), "response_format"),
            (json!({"logprobs": true}), "logprobs"),
            (json!({"top_logprobs": 3}), "top_logprobs"),
            (json!({"logit_bias": {"5": 1}}), "logit_bias"),
            (json!({"modalities": ["text", "audio"]}), "modalities"),
            (json!({"audio": {"voice": "a"}}), "audio"),
        ] {
            assert_eq!(refused(&more).0, param, "{more}");
        }
        for kind in ["image_url", "input_audio", "file"] {
            let parts = json!([{"type": "text", "text": "see"}, {"type": kind}]);
            let said = json!({"messages": [{"role": "user", "content": parts}]});
            let expected = ("messages[0].content[1]".to_owned(), TEXT_ONLY.to_owned());
            assert_eq!(refused(&said), expected, "{kind}");
        }
    }

    #[test]
    fn numbers_out_of_range_and_wrong_types_are_refused_by_name() {
        for (more, param, says) in [
            (json!({"temperature": 2.1}), "temperature", "from 0 to 2"),
            (json!({"temperature": "warm"}), "temperature", "from 0 to 2"),
            (json!({"top_p": 1.5}), "top_p", "from 0 to 1"),
            (json!({"presence_penalty": 3}), "presence_penalty", "from -2 to 2"),
            (json!({"frequency_penalty": -3}), "frequency_penalty", "from -2 to 2"),
            (json!({"repeat_penalty": 0}), "repeat_penalty", "from 0.5 to 2"),
            (json!({"repetition_penalty": 9}), "repetition_penalty", "from 0.5 to 2"),
            (json!({"max_tokens": 0}), "max_tokens", "at least 1"),
            (json!({"max_completion_tokens": -1}), "max_completion_tokens", "at least 1"),
            (json!({"max_tokens": 1.5}), "max_tokens", "at least 1"),
            (json!({"seed": 1.5}), "seed", "whole number"),
            (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop", "up to 4"),
            (json!({"stop": ""}), "stop", "1 to 256 bytes"),
            (json!({"stop": "x".repeat(257)}), "stop", "1 to 256 bytes"),
            (json!({"stop": [1]}), "stop", "texts"),
            (json!({"messages": []}), "messages", "list of messages"),
            (json!({"messages": ["hi"]}), "messages[0]", "an object"),
            (json!({"messages": [{"content": "hi"}]}), "messages[0].role", "`user`"),
            (json!({"messages": [{"role": "user"}]}), "messages[0].content", "a text"),
            (
                json!({"messages": [{"role": "user", "content": [{"text": "a"}]}]}),
                "messages[0].content[0]",
                "no text",
            ),
        ] {
            let (found, message) = refused(&more);
            assert_eq!(found, param, "{more}");
            assert!(message.contains(says), "{message}");
        }
        assert!(parse(&json!({"max_tokens": u64::MAX})).is_ok());
    }
}
