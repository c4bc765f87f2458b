//! Tests of `chat`.

use bytes::Bytes;
use wire::sse::Splitter;

use super::*;

fn looks(wants_usage: bool, stream: &'static str) -> (ChatWatch, Vec<Result<ChunkAction, Fault>>) {
    let mut watch = ChatWatch { wants_usage, ..ChatWatch::default() };
    let mut splitter = Splitter::new(10_000);
    splitter.push(Bytes::from_static(stream.as_bytes()));
    let mut looks = Vec::new();
    while let Some(event) = splitter.next() {
        looks.push(watch.inspect(&event.unwrap()));
    }
    (watch, looks)
}

const STREAM: &str = concat!(
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"usage\":null}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n",
    "data: [DONE]\n\n",
);

#[test]
fn usage_is_parsed_and_hidden_unless_requested() {
    let (watch, seen) = looks(false, STREAM);
    assert_eq!(watch.tokens, TokenCounts { input: Some(3), output: Some(1) });
    assert!(watch.has_content);
    let passed: Vec<Bytes> =
        STREAM.split_inclusive("\n\n").map(|event| Bytes::from_static(event.as_bytes())).collect();
    let pass = |number: usize| Ok(ChunkAction::Pass(passed[number].clone()));
    assert_eq!(seen, [pass(0), pass(1), Ok(ChunkAction::Skip), Ok(ChunkAction::Done)]);
    let (_, seen) = looks(true, STREAM);
    assert_eq!(seen, [pass(0), pass(1), pass(2), Ok(ChunkAction::Done)]);
}

#[test]
fn only_the_outermost_model_is_renamed() {
    let renamed = |stream: &'static str| {
        let mut watch = ChatWatch { model: Some("\"up/good\"".into()), ..ChatWatch::default() };
        let mut splitter = Splitter::new(10_000);
        splitter.push(Bytes::from_static(stream.as_bytes()));
        match watch.inspect(&splitter.next().unwrap().unwrap()).unwrap() {
            ChunkAction::Pass(piece) => String::from_utf8(piece.to_vec()).unwrap(),
            look => panic!("{look:?}"),
        }
    };
    let chunk =
        "id: 7\r\ndata: {\"x\":{\"model\":\"a\"}, \"model\" : \"good\",\"choices\":[1.0]}\r\n\r\n"
            .replace("[1.0]", "[{\"delta\":{\"content\":\"\\\"model\\\":\"}}]");
    let chunk: &'static str = chunk.leak();
    assert_eq!(renamed(chunk), chunk.replace("\"good\"", "\"up/good\""));
    let lines = "data: {\"choices\":[],\ndata: \"model\":\"good\"}\n\n";
    assert_eq!(renamed(lines), lines.replace("\"good\"", "\"up/good\""));
    let same = "data: {\"model\":\"up/good\"}\n\n";
    assert_eq!(renamed(same), same);
    assert_eq!(renamed("data: {\"choices\":[]}\n\n"), "data: {\"choices\":[]}\n\n");
}

#[test]
fn a_stream_without_content_is_detected() {
    let (watch, _) = looks(
        false,
        "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"tool_calls\":[]}}]}\n\ndata: [DONE]\n\n",
    );
    assert!(!watch.has_content);
}

#[test]
fn errors_and_invalid_chunks_are_faults() {
    let (_, seen) = looks(false, "data: {\"error\":{\"message\":\"overloaded\"}}\n\n");
    assert_eq!(seen, [Err(Fault::Told(Some("overloaded".to_owned())))]);
    let (_, seen) = looks(false, "data: {\"choices\":[\n\n");
    assert_eq!(seen, [Err(Fault::Malformed("an event is not valid JSON"))]);
}

#[test]
fn invalid_usage_is_ignored() {
    let (watch, seen) = looks(
        false,
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":-4,\"completion_tokens\":\"many\"}}\n\n",
    );
    assert_eq!((watch.tokens, seen), (TokenCounts::default(), vec![Ok(ChunkAction::Skip)]));
}
