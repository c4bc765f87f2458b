//! Paths without a conversation: embeddings, moderations, reranking, completions, images, speech and
//! transcriptions. The answers depend only on the request.

use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::dialect::CREATED;
use super::media::{images, refusal, seed, speech};
use super::model_request::ModelRequest;
use super::recorded_request::Exchange;
use super::server_state::ServerState;
use super::step_runner::{StepRunner, send};
use crate::http::{Replied, Reply, Request};

/// The length of a vector unless the request names one.
const DIMENSIONS: u64 = 8;

pub(super) fn is_path(path: &str) -> bool {
    answer_of(path).is_some()
}

type MakeReply = fn(&Value) -> Reply;

/// The field that a request must have, and the answer.
fn answer_of(path: &str) -> Option<(&'static str, MakeReply)> {
    Some(match path {
        "/v1/embeddings" => ("input", embeddings),
        "/v1/moderations" => ("input", moderations),
        "/v1/rerank" => ("query", rerank),
        "/v1/completions" => ("prompt", completions),
        "/v1/images/generations" | "/v1/images/edits" => ("prompt", images),
        "/v1/audio/speech" => ("input", speech),
        "/v1/audio/transcriptions" => ("file", transcription),
        _ => return None,
    })
}

pub(super) fn respond(
    state: &ServerState,
    exchange: &Exchange,
    request: &Request,
    stream: &TcpStream,
) -> Replied {
    let Some((field, answer)) = answer_of(&request.path) else {
        return send(exchange, stream, &Reply::empty(404));
    };
    let body = match request.header("content-type").and_then(|it| it.split_once("boundary=")) {
        Some((_, boundary)) => form(&request.body, boundary),
        None => request.json(),
    };
    if body[field].is_null() || !body["model"].is_string() {
        let message = format!("you must provide `model` and `{field}`");
        return send(exchange, stream, &refusal(&message));
    }
    let text = match &body[field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let ask = ModelRequest::of_text(&body["model"], &text);
    let step = state.choose(&ask);
    StepRunner { state, exchange, ask: &ask, stream }.play_media(&step, &answer(&body))
}

/// The fields of a form; of a file, its name and its length.
fn form(body: &[u8], boundary: &str) -> Value {
    let text = String::from_utf8_lossy(body);
    let mut fields = json!({});
    for part in text.split(&format!("--{boundary}")) {
        let Some((head, content)) = part.split_once("\r\n\r\n") else { continue };
        let named = |key: &str| Some(head.split_once(key)?.1.split('"').next()?.to_owned());
        let Some(name) = named("; name=\"") else { continue };
        let content = content.strip_suffix("\r\n").unwrap_or(content);
        fields[name] = match named("filename=\"") {
            Some(file) => format!("{file} of {} characters", content.chars().count()).into(),
            None => content.into(),
        };
    }
    fields
}

fn ok(body: &Value) -> Reply {
    Reply::json(200, body.to_string())
}

fn embeddings(body: &Value) -> Reply {
    let inputs = match &body["input"] {
        Value::Array(inputs) if !inputs.iter().all(Value::is_number) => inputs.clone(),
        one => vec![one.clone()],
    };
    let dimensions = body["dimensions"].as_u64().unwrap_or(DIMENSIONS);
    let vector = |input: &Value| -> Value {
        let hash = seed(&input.to_string());
        let bytes =
            (0..dimensions).map(|place| hash.rotate_left(8).wrapping_add(place).to_le_bytes()[0]);
        let numbers: Vec<f32> = bytes.map(|byte| f32::from(byte) / 256.0).collect();
        if body["encoding_format"] == "base64" {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            return STANDARD.encode(bytes).into();
        }
        numbers.into()
    };
    let one = |(index, input): (usize, &Value)| json!({"object": "embedding", "index": index, "embedding": vector(input)});
    let data: Vec<Value> = inputs.iter().enumerate().map(one).collect();
    let usage = json!({"prompt_tokens": data.len(), "total_tokens": data.len()});
    ok(&json!({"object": "list", "data": data, "model": body["model"], "usage": usage}))
}

fn moderations(body: &Value) -> Reply {
    let is_flagged = body["input"].to_string().contains("harm");
    let result = json!({"flagged": is_flagged, "categories": {"violence": is_flagged},
        "category_scores": {"violence": if is_flagged { 0.9 } else { 0.1 }}});
    ok(&json!({"id": "modr-1", "model": body["model"], "results": [result]}))
}

fn rerank(body: &Value) -> Reply {
    let query = body["query"].as_str().unwrap_or_default();
    let documents = body["documents"].as_array().cloned().unwrap_or_default();
    let score = |document: &Value| f64::from(u8::from(document.to_string().contains(query)));
    let mut scores: Vec<(usize, f64)> = documents.iter().map(score).enumerate().collect();
    scores.sort_by(|left, right| right.1.total_cmp(&left.1));
    let result = |(index, score): &(usize, f64)| json!({"index": index, "relevance_score": score});
    let results: Vec<Value> = scores.iter().map(result).collect();
    ok(&json!({"id": "rerank-1", "model": body["model"], "results": results}))
}

fn completions(body: &Value) -> Reply {
    let prompt = match &body["prompt"] {
        Value::String(prompt) => prompt.clone(),
        other => other.to_string(),
    };
    let completion = |text: &str, reason: Value| {
        json!({"id": "cmpl-1", "object": "text_completion", "created": CREATED,
            "model": body["model"],
            "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": reason}]})
    };
    if body["stream"] == true {
        let events = [completion(&prompt, Value::Null), completion(" and more", "stop".into())];
        let [first, last] = events;
        return streamed(format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n"));
    }
    let mut answer = completion(&format!("{prompt} and more"), "stop".into());
    answer["usage"] = json!({"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4});
    ok(&answer)
}

fn transcription(form: &Value) -> Reply {
    let text = format!("heard {}", form["file"].as_str().unwrap_or_default());
    if form["stream"] == "true" {
        let done = json!({"type": "transcript.text.done", "text": text});
        let delta = json!({"type": "transcript.text.delta", "delta": text});
        return streamed(format!("data: {delta}\n\ndata: {done}\n\n"));
    }
    match form["response_format"].as_str() {
        Some("text") => Reply::text(200, text),
        _ => ok(&json!({"text": text,
            "usage": {"type": "tokens", "input_tokens": 3, "output_tokens": 2, "total_tokens": 5}})),
    }
}

fn streamed(events: String) -> Reply {
    Reply::empty(200).header("Content-Type", "text/event-stream").body(events)
}
