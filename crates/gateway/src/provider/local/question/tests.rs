//! Tests of `question`.

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
    let error = parse(more).err().unwrap_or_else(|| panic!("{more} was taken")).detail(None);
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
    let Question { request, form } = question.unwrap();
    assert_eq!((form.model.as_str(), form.is_streamed, form.tells_usage), ("m", true, true));
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
fn null_fields_are_ignored() {
    let names = ["max_tokens", "temperature", "seed", "stop", "tools", "n", "logprobs"];
    let nulls = names.map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
    let question = parse(&Value::Object(nulls)).unwrap();
    assert_eq!(question.request.sampling, Sampling::default());
    assert!(!question.form.is_streamed && !question.form.tells_usage);
}

#[test]
fn tools_are_rejected_unless_tool_choice_is_none() {
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
fn unsupported_features_are_rejected_by_name() {
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
fn out_of_range_numbers_and_wrong_types_are_rejected_by_name() {
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
        (json!({"stop": [1]}), "stop", "strings"),
        (json!({"messages": []}), "messages", "list of messages"),
        (json!({"messages": ["hi"]}), "messages[0]", "an object"),
        (json!({"messages": [{"content": "hi"}]}), "messages[0].role", "`user`"),
        (json!({"messages": [{"role": "user"}]}), "messages[0].content", "a string"),
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
