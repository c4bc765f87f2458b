//! What peers send, and what is made of it.

use super::*;

fn all(text: &[u8]) -> Vec<Message> {
    let mut found = Vec::new();
    parse(&Bytes::copy_from_slice(text), |message| found.push(message));
    found
}

fn only(text: &[u8]) -> Message {
    let mut found = all(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn answer(id: u64, json: &str) -> Message {
    Message::Response { id, outcome: Ok(RawJson(Bytes::copy_from_slice(json.as_bytes()))) }
}

#[test]
fn responses_are_recognised_in_every_format() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#,
        r#"{"id":7,"result":{"a":1}}"#,
        r#"  {"result":{"a":1},"jsonrpc":"2.0","id":7}  "#,
        r#"{"jsonrpc":"2.0","id":"7","result":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","id":7.0,"result":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":1},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":null,"params":null,"result":{"a":1},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","result":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":7,"result":{"a":1},"extra":[1,{"id":9}]}"#,
        "\u{FEFF}{\"id\":7,\"result\":{\"a\":1}}",
    ] {
        assert_eq!(only(text.as_bytes()), answer(7, r#"{"a":1}"#), "{text}");
    }
    assert_eq!(only(br#"{"id":7,"result":null}"#), answer(7, "null"));
}

#[test]
fn errors_of_every_format_reach_the_caller() {
    for (text, code, message) in [
        (r#"{"id":1,"error":{"code":-32601,"message":"no"}}"#, -32601, "no"),
        (r#"{"id":1,"error":{"code":"-32601","message":"no"}}"#, -32601, "no"),
        (r#"{"id":1,"error":{"code":-32601.0,"message":"no"}}"#, -32601, "no"),
        (r#"{"id":1,"error":{"code":"E_BAD"}}"#, 0, "the server sent no message"),
        (r#"{"id":1,"error":"broken"}"#, 0, "broken"),
        (r#"{"id":1,"error":{"message":{"a":1}}}"#, 0, r#"{"a":1}"#),
        (r#"{"id":1,"result":{},"error":{"code":1,"message":"both"}}"#, 1, "both"),
    ] {
        let Message::Response { id: 1, outcome: Err(error) } = only(text.as_bytes()) else {
            panic!("{text}");
        };
        assert_eq!((error.code, error.peer_message.as_str()), (code, message), "{text}");
    }
    assert!(matches!(
        only(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#),
        Message::UnattributedError { .. }
    ));
}

#[test]
fn non_utf8_bytes_are_replaced() {
    let Message::Response { id: 3, outcome: Ok(payload) } =
        only(b"{\"id\":3,\"result\":{\"text\":\"a\xFFb\"}}")
    else {
        panic!();
    };
    assert_eq!(payload.value()["text"], "a\u{FFFD}b");
}

#[test]
fn batches_are_split() {
    assert_eq!(
        all(br#"[{"id":1,"result":1},{"id":2,"result":2}]"#),
        [answer(1, "1"), answer(2, "2")]
    );
    assert_eq!(all(b"[]"), []);
}

#[test]
fn several_messages_on_one_line_are_parsed() {
    let line = br#"{"method":"n"} {"id":1,"result":1}"#;
    let Message::Notification { method, .. } = &all(line)[0] else { panic!() };
    assert_eq!((method.as_str(), &all(line)[1]), ("n", &answer(1, "1")));
}

#[test]
fn multi_line_messages_are_distinguished_from_noise() {
    for text in ["{", "{\n  \"id\": 1,", "[{\"id\":1", "{\"a\":\"b"] {
        assert!(is_incomplete(text.as_bytes()), "{text}");
    }
    for text in ["", "ready", "{}", "{oops", "[info] x", "\"id\": 1,", "}"] {
        assert!(!is_incomplete(text.as_bytes()), "{text}");
    }
}

#[test]
fn malformed_responses_keep_their_request_id() {
    for text in [
        &br#"{"jsonrpc":"2.0","id":5,"result":{"#[..],
        br#"{"jsonrpc":"2.0","id":5}"#,
        br#"{"result":{"a":nan},"jsonrpc":"2.0","id": "5"}"#,
        br#"[{"jsonrpc":"2.0","id":5,"result":{"#,
    ] {
        assert!(
            matches!(only(text), Message::Malformed { id: Some(5), .. }),
            "{}",
            String::from_utf8_lossy(text)
        );
    }
    // A broken notification that mentions an id answers nobody.
    assert!(matches!(
        only(br#"{"jsonrpc":"2.0","method":"x","params":{"id":5"#),
        Message::Malformed { id: None, .. }
    ));
}

#[test]
fn log_lines_are_not_messages() {
    for text in ["Server started on port 80", "[info] ready", "{not json", "12", "[1,2"] {
        assert_eq!(only(text.as_bytes()), Message::Noise, "{text}");
    }
    assert_eq!(all(b"   "), []);
}

#[test]
fn requests_of_the_peer_keep_their_id() {
    let Message::Request { id, method, params } =
        only(br#"{"jsonrpc":"2.0","id":"a-1","method":"ping","params":{"x":1}}"#)
    else {
        panic!();
    };
    assert_eq!((id.text(), method.as_str()), ("\"a-1\"", "ping"));
    assert_eq!(params.unwrap().text(), r#"{"x":1}"#);
    assert!(matches!(only(br#"{"method":"n","id":null}"#), Message::Notification { .. }));
}

#[test]
fn written_messages_are_valid() {
    let params = Params::default().with("name", "a\"b").with_raw("arguments", r#"{"x":1}"#);
    let meta = Params::default().with("v", "1").with("progressToken", &9);
    let text = request(9, "tools/call", &params, &meta);
    let value: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(
        value,
        serde_json::json!({
            "jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": { "name": "a\"b", "arguments": { "x": 1 },
                "_meta": { "v": "1", "progressToken": 9 } },
        })
    );
    assert!(text.ends_with(b"}\n"));
    assert_eq!(
        &request(1, "ping", &Params::default(), &Params::default())[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
    );
    assert_eq!(
        &reply("\"x\"", &Err(RpcError::new(-32601, "no")))[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601,\"message\":\"no\"}}\n"
    );
}

proptest::proptest! {
    #[test]
    fn any_message_is_parsed_without_panic(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "[", "]", "\"id\"", ":", ",", "1", "-1e400", "null", "\"method\"", "\"a\"",
                "\"result\"", "\"error\"", "\"params\"", "\u{FEFF}", "\\u0000", "true", " ", "\"",
            ]),
            0..40,
        ),
        raw in proptest::collection::vec(proptest::num::u8::ANY, 0..20),
    ) {
        let mut text = pieces.concat().into_bytes();
        text.extend(raw);
        let found = all(&text);
        proptest::prop_assert!(found.len() <= MAX_BATCH);
        let _ = is_incomplete(&text);
    }
}
