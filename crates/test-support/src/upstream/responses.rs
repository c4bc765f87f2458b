//! Responses, as OpenAI documents them.

use serde_json::{Value, json};

use super::answer::{Answer, Call};
use super::ask::{Ask, Format};
use super::dialect::{CREATED, Event, Part, halves};

/// What is wrong with a request, if it is refused.
pub(super) fn complaint(body: &Value) -> Option<String> {
    if !body["model"].is_string() {
        return Some("Missing required parameter: 'model'.".to_owned());
    }
    let input = &body["input"];
    let fine = input.is_string() || input.as_array().is_some_and(|items| !items.is_empty());
    (!fine).then(|| "Missing required parameter: 'input'.".to_owned())
}

/// The whole answer.
pub(super) fn whole(number: usize, ask: &Ask, answer: &Answer) -> Value {
    let mut output: Vec<Value> = Vec::new();
    if answer.calls.is_empty() && !answer.pieces.is_empty() {
        output.push(message(number, "completed", &[text_part(&answer.text())]));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        output.push(function_call(number, index, call, &call.arguments, "completed"));
    }
    let mut whole = shell(number, ask, "completed");
    whole["output"] = output.into();
    if let Some(usage) = answer.usage {
        whole["usage"] = json!({"input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output});
    }
    whole
}

/// The answer as a stream.
pub(super) fn events(number: usize, ask: &Ask, answer: &Answer) -> Vec<Event> {
    let mut stream = Stream::default();
    for kind in ["response.created", "response.in_progress"] {
        let response = shell(number, ask, "in_progress");
        stream.push(Part::Opening, json!({"type": kind, "response": response}));
    }
    if answer.calls.is_empty() && !answer.pieces.is_empty() {
        stream.message(number, answer);
    }
    for (index, call) in answer.calls.iter().enumerate() {
        stream.call(number, index, call);
    }
    let response = whole(number, ask, answer);
    stream.push(Part::End, json!({"type": "response.completed", "response": response}));
    stream.events
}

/// Events that count themselves.
#[derive(Default)]
struct Stream {
    events: Vec<Event>,
}

impl Stream {
    fn push(&mut self, part: Part, mut data: Value) {
        data["sequence_number"] = self.events.len().into();
        self.events.push(Event::named(part, &data));
    }

    fn message(&mut self, number: usize, answer: &Answer) {
        let (item, text) = (format!("msg_upstream{number}"), answer.text());
        let opening = message(number, "in_progress", &[]);
        self.push(
            Part::Opening,
            json!({"type": "response.output_item.added", "output_index": 0, "item": opening}),
        );
        self.push(
            Part::Opening,
            json!({"type": "response.content_part.added", "item_id": item, "output_index": 0,
                "content_index": 0, "part": text_part("")}),
        );
        for piece in &answer.pieces {
            self.push(
                Part::Piece,
                json!({"type": "response.output_text.delta", "item_id": item, "output_index": 0,
                    "content_index": 0, "delta": piece, "logprobs": []}),
            );
        }
        self.push(
            Part::Closing,
            json!({"type": "response.output_text.done", "item_id": item, "output_index": 0,
                "content_index": 0, "text": text, "logprobs": []}),
        );
        self.push(
            Part::Closing,
            json!({"type": "response.content_part.done", "item_id": item, "output_index": 0,
                "content_index": 0, "part": text_part(&text)}),
        );
        let done = message(number, "completed", &[text_part(&text)]);
        self.push(
            Part::Closing,
            json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
        );
    }

    fn call(&mut self, number: usize, index: usize, call: &Call) {
        let opening = function_call(number, index, call, "", "in_progress");
        let item = opening["id"].clone();
        self.push(
            Part::Opening,
            json!({"type": "response.output_item.added", "output_index": index, "item": opening}),
        );
        for half in halves(&call.arguments) {
            self.push(
                Part::Piece,
                json!({"type": "response.function_call_arguments.delta", "item_id": item,
                    "output_index": index, "delta": half}),
            );
        }
        self.push(
            Part::Closing,
            json!({"type": "response.function_call_arguments.done", "item_id": item,
                "output_index": index, "name": call.name, "arguments": call.arguments}),
        );
        let done = function_call(number, index, call, &call.arguments, "completed");
        self.push(
            Part::Closing,
            json!({"type": "response.output_item.done", "output_index": index, "item": done}),
        );
    }
}

/// A response without output or usage.
fn shell(number: usize, ask: &Ask, status: &str) -> Value {
    let format = match &ask.format {
        Format::Schema(schema) => json!({"type": "json_schema", "name": "answer",
            "schema": schema, "strict": true}),
        Format::Json => json!({"type": "json_object"}),
        Format::Text => json!({"type": "text"}),
    };
    json!({"id": format!("resp_upstream{number}"), "object": "response", "created_at": CREATED,
        "status": status, "background": false, "error": null, "incomplete_details": null,
        "instructions": null, "max_output_tokens": null, "model": ask.model, "output": [],
        "parallel_tool_calls": true, "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null}, "store": true, "temperature": 1.0,
        "text": {"format": format}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "usage": null, "user": null, "metadata": {}})
}

fn message(number: usize, status: &str, content: &[Value]) -> Value {
    json!({"id": format!("msg_upstream{number}"), "type": "message", "status": status,
        "role": "assistant", "content": content})
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn function_call(number: usize, index: usize, call: &Call, arguments: &str, status: &str) -> Value {
    json!({"id": format!("fc_upstream{number}_{index}"), "type": "function_call",
        "status": status, "call_id": call.id, "name": call.name, "arguments": arguments})
}
