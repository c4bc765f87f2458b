//! Tests of `whole`.

use super::*;

fn chat(body: &'static str) -> Result<WholeAnswer, Failure> {
    WholeReader::Chat { model: Some("\"up/good\"".into()) }
        .read(Bytes::from_static(body.as_bytes()))
}

#[test]
fn an_answer_is_passed_through_unchanged() {
    let body = r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":2,"completion_tokens":1},"x":1.0}"#;
    let piece = chat(body).unwrap();
    assert_eq!(piece.body, body);
    assert!(piece.has_content);
    assert_eq!(piece.tokens, TokenCounts { input: Some(2), output: Some(1) });
}

#[test]
fn an_answer_names_the_requested_model() {
    let body = r#"{"model": "good","choices":[{"message":{"content":"\"model\":"}}]}"#;
    assert_eq!(chat(body).unwrap().body, body.replace("\"good\"", "\"up/good\""));
}

#[test]
fn an_empty_answer_is_detected() {
    assert!(!chat(r#"{"choices":[{"message":{"content":""}}]}"#).unwrap().has_content);
    assert!(!chat(r#"{"choices":[{"message":{"content":null}}]}"#).unwrap().has_content);
    assert!(!chat(r#"{"choices":[]}"#).unwrap().has_content);
    let call = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a"}]}}]}"#;
    assert!(chat(call).unwrap().has_content);
}

#[test]
fn invalid_answers_are_failures() {
    for body in ["", "<html>", r#"{"error":{"message":"x"}}"#, r#"{"choices":null}"#, "[]"] {
        assert!(matches!(chat(body), Err(Failure::Malformed(_))), "{body}");
    }
}
