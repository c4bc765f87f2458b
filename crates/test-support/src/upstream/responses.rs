//! The Responses interface, as OpenAI documents it.

use serde_json::{Value, json};

use super::dialect::{CREATED, Event, EventPosition, halves};
use super::generated_answer::{GeneratedAnswer, ToolCall};
use super::model_request::TextFormat;

pub(super) fn complaint(body: &Value) -> Option<String> {
    if !body["model"].is_string() {
        return Some("Missing required parameter: 'model'.".to_owned());
    }
    let input = &body["input"];
    let fine = input.is_string() || input.as_array().is_some_and(|items| !items.is_empty());
    (!fine).then(|| "Missing required parameter: 'input'.".to_owned())
}

pub(super) fn whole(answer: &GeneratedAnswer<'_>) -> Value {
    let mut output: Vec<Value> = Vec::new();
    if answer.calls.is_empty() && !answer.pieces.is_empty() {
        output.push(message(answer, "completed", &[text_part(&answer.text())]));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        output.push(function_call(answer, (index, call), &call.arguments, "completed"));
    }
    let mut whole = shell(answer, "completed");
    whole["output"] = output.into();
    if let Some(usage) = answer.usage {
        whole["usage"] = json!({"input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output});
    }
    whole
}

pub(super) fn events(answer: &GeneratedAnswer<'_>) -> Vec<Event> {
    let mut stream = NumberedEvents::default();
    for kind in ["created", "in_progress"] {
        stream.push(
            EventPosition::Opening,
            kind,
            json!({"response": shell(answer, "in_progress")}),
        );
    }
    if answer.calls.is_empty() && !answer.pieces.is_empty() {
        stream.message(answer);
    }
    for call in answer.calls.iter().enumerate() {
        stream.call(answer, call);
    }
    stream.push(EventPosition::End, "completed", json!({"response": whole(answer)}));
    stream.events
}

/// Events with sequence numbers.
#[derive(Default)]
struct NumberedEvents {
    events: Vec<Event>,
}

impl NumberedEvents {
    fn push(&mut self, part: EventPosition, kind: &str, mut data: Value) {
        data["type"] = format!("response.{kind}").into();
        data["sequence_number"] = self.events.len().into();
        self.events.push(Event::named(part, &data));
    }

    fn message(&mut self, answer: &GeneratedAnswer<'_>) {
        let (opening, text) = (message(answer, "in_progress", &[]), answer.text());
        let item = opening["id"].clone();
        let of_part = |key: &str, value: Value| {
            let mut data = json!({"item_id": item, "output_index": 0, "content_index": 0});
            data[key] = value;
            data
        };
        let of_text = |key: &str, value: &str| {
            let mut data = of_part(key, value.into());
            data["logprobs"] = json!([]);
            data
        };
        let item_event = |item: Value| json!({"output_index": 0, "item": item});
        self.push(EventPosition::Opening, "output_item.added", item_event(opening));
        self.push(EventPosition::Opening, "content_part.added", of_part("part", text_part("")));
        for piece in &answer.pieces {
            self.push(EventPosition::Piece, "output_text.delta", of_text("delta", piece));
        }
        self.push(EventPosition::Closing, "output_text.done", of_text("text", &text));
        self.push(EventPosition::Closing, "content_part.done", of_part("part", text_part(&text)));
        let done = message(answer, "completed", &[text_part(&text)]);
        self.push(EventPosition::Closing, "output_item.done", item_event(done));
    }

    fn call(&mut self, answer: &GeneratedAnswer<'_>, (index, call): (usize, &ToolCall)) {
        let opening = function_call(answer, (index, call), "", "in_progress");
        let item = opening["id"].clone();
        let item_event = |item: Value| json!({"output_index": index, "item": item});
        self.push(EventPosition::Opening, "output_item.added", item_event(opening));
        for half in halves(&call.arguments) {
            let delta = json!({"item_id": item, "output_index": index, "delta": half});
            self.push(EventPosition::Piece, "function_call_arguments.delta", delta);
        }
        let arguments = json!({"item_id": item, "output_index": index, "name": call.name,
            "arguments": call.arguments});
        self.push(EventPosition::Closing, "function_call_arguments.done", arguments);
        let done = function_call(answer, (index, call), &call.arguments, "completed");
        self.push(EventPosition::Closing, "output_item.done", item_event(done));
    }
}

/// A response without output or usage.
fn shell(answer: &GeneratedAnswer<'_>, status: &str) -> Value {
    let format = match &answer.ask.format {
        TextFormat::Schema(schema) => json!({"type": "json_schema", "name": "answer",
            "schema": schema, "strict": true}),
        TextFormat::Json => json!({"type": "json_object"}),
        TextFormat::Text => json!({"type": "text"}),
    };
    let (id, model) = (format!("resp_upstream{}", answer.number), &answer.ask.model);
    json!({"id": id, "object": "response", "created_at": CREATED,
        "status": status, "background": false, "error": null, "incomplete_details": null,
        "instructions": null, "max_output_tokens": null, "model": model, "output": [],
        "parallel_tool_calls": true, "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null}, "store": true, "temperature": 1.0,
        "text": {"format": format}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "usage": null, "user": null, "metadata": {}})
}

fn message(answer: &GeneratedAnswer<'_>, status: &str, content: &[Value]) -> Value {
    json!({"id": format!("msg_upstream{}", answer.number), "type": "message", "status": status,
        "role": "assistant", "content": content})
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn function_call(
    answer: &GeneratedAnswer<'_>,
    (index, call): (usize, &ToolCall),
    arguments: &str,
    status: &str,
) -> Value {
    json!({"id": format!("fc_upstream{}_{index}", answer.number), "type": "function_call",
        "status": status, "call_id": call.id, "name": call.name, "arguments": arguments})
}
