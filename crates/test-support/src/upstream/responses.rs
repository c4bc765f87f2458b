//! The Responses interface, as OpenAI documents it.

use serde_json::{Value, json};

use super::dialect::{CREATED, Event, EventPosition, halves};
use super::generated_answer::{GeneratedAnswer, ToolCall};
use super::model_request::{ModelRequest, TextFormat};

pub(super) fn complaint(body: &Value) -> Option<String> {
    if !body["model"].is_string() {
        return Some("Missing required parameter: 'model'.".to_owned());
    }
    let input = &body["input"];
    let fine = input.is_string() || input.as_array().is_some_and(|items| !items.is_empty());
    (!fine).then(|| "Missing required parameter: 'input'.".to_owned())
}

pub(super) fn whole(number: usize, ask: &ModelRequest, answer: &GeneratedAnswer) -> Value {
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

pub(super) fn events(number: usize, ask: &ModelRequest, answer: &GeneratedAnswer) -> Vec<Event> {
    let mut stream = NumberedEvents::default();
    for kind in ["response.created", "response.in_progress"] {
        let response = shell(number, ask, "in_progress");
        stream.push(EventPosition::Opening, json!({"type": kind, "response": response}));
    }
    if answer.calls.is_empty() && !answer.pieces.is_empty() {
        stream.message(number, answer);
    }
    for (index, call) in answer.calls.iter().enumerate() {
        stream.call(number, index, call);
    }
    let response = whole(number, ask, answer);
    stream.push(EventPosition::End, json!({"type": "response.completed", "response": response}));
    stream.events
}

/// Events with sequence numbers.
#[derive(Default)]
struct NumberedEvents {
    events: Vec<Event>,
}

impl NumberedEvents {
    fn push(&mut self, part: EventPosition, mut data: Value) {
        data["sequence_number"] = self.events.len().into();
        self.events.push(Event::named(part, &data));
    }

    fn message(&mut self, number: usize, answer: &GeneratedAnswer) {
        let (item, text) = (format!("msg_upstream{number}"), answer.text());
        let opening = message(number, "in_progress", &[]);
        self.push(
            EventPosition::Opening,
            json!({"type": "response.output_item.added", "output_index": 0, "item": opening}),
        );
        self.push(
            EventPosition::Opening,
            json!({"type": "response.content_part.added", "item_id": item, "output_index": 0,
                "content_index": 0, "part": text_part("")}),
        );
        for piece in &answer.pieces {
            self.push(
                EventPosition::Piece,
                json!({"type": "response.output_text.delta", "item_id": item, "output_index": 0,
                    "content_index": 0, "delta": piece, "logprobs": []}),
            );
        }
        self.push(
            EventPosition::Closing,
            json!({"type": "response.output_text.done", "item_id": item, "output_index": 0,
                "content_index": 0, "text": text, "logprobs": []}),
        );
        self.push(
            EventPosition::Closing,
            json!({"type": "response.content_part.done", "item_id": item, "output_index": 0,
                "content_index": 0, "part": text_part(&text)}),
        );
        let done = message(number, "completed", &[text_part(&text)]);
        self.push(
            EventPosition::Closing,
            json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
        );
    }

    fn call(&mut self, number: usize, index: usize, call: &ToolCall) {
        let opening = function_call(number, index, call, "", "in_progress");
        let item = opening["id"].clone();
        self.push(
            EventPosition::Opening,
            json!({"type": "response.output_item.added", "output_index": index, "item": opening}),
        );
        for half in halves(&call.arguments) {
            self.push(
                EventPosition::Piece,
                json!({"type": "response.function_call_arguments.delta", "item_id": item,
                    "output_index": index, "delta": half}),
            );
        }
        self.push(
            EventPosition::Closing,
            json!({"type": "response.function_call_arguments.done", "item_id": item,
                "output_index": index, "name": call.name, "arguments": call.arguments}),
        );
        let done = function_call(number, index, call, &call.arguments, "completed");
        self.push(
            EventPosition::Closing,
            json!({"type": "response.output_item.done", "output_index": index, "item": done}),
        );
    }
}

/// A response without output or usage.
fn shell(number: usize, ask: &ModelRequest, status: &str) -> Value {
    let format = match &ask.format {
        TextFormat::Schema(schema) => json!({"type": "json_schema", "name": "answer",
            "schema": schema, "strict": true}),
        TextFormat::Json => json!({"type": "json_object"}),
        TextFormat::Text => json!({"type": "text"}),
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

fn function_call(
    number: usize,
    index: usize,
    call: &ToolCall,
    arguments: &str,
    status: &str,
) -> Value {
    json!({"id": format!("fc_upstream{number}_{index}"), "type": "function_call",
        "status": status, "call_id": call.id, "name": call.name, "arguments": arguments})
}
