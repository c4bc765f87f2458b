//! What a model answers is the same chat message when the client sends it back.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{output_items, request};
use super::streaming::{completions, run};
use super::{answer, object, shape};

/// The chat messages of a conversation with these items, which are part of the input or of an
/// earlier response.
fn chat(earlier: &[Value], items: &[Value]) -> Value {
    let input: Vec<Value> = [json!({"role": "user", "content": "Hi"})]
        .into_iter()
        .chain(items.iter().cloned())
        .collect();
    request(&object(json!({"model": "a/b", "input": input})), earlier).unwrap().chat["messages"]
        .clone()
}

/// The message of a completion as a chat request repeats it: without what was thought.
fn repeated(completion: &Value) -> Option<Value> {
    let said = &completion["choices"][0]["message"];
    let calls = said["tool_calls"].as_array().unwrap();
    let text = said["content"].as_str().unwrap();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = calls.as_slice().into();
        if text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    (!text.is_empty() || !calls.is_empty()).then_some(message)
}

proptest! {
    #[test]
    fn an_answer_survives_the_responses_api((completion, chunks) in completions()) {
        let whole = answer(&completion, &shape(json!({"model": "a/b"}))).unwrap();
        let (_, streamed) = run(&chunks);
        let Some(said) = repeated(&completion) else { return Ok(()) };
        let calls = said["tool_calls"].as_array().cloned().unwrap_or_default();
        let result = |call: &Value| json!({"type": "function_call_output", "call_id": call["id"], "output": "rain"});
        let results: Vec<Value> = calls.iter().map(result).collect();
        let user = json!({"role": "user", "content": "Hi"});
        let tool = |call: &Value| json!({"role": "tool", "tool_call_id": call["id"], "content": "rain"});
        let tools: Vec<Value> = calls.iter().map(tool).collect();
        for response in [whole, streamed] {
            let items = [output_items(&response), &results].concat();
            let sent_back = [vec![user.clone(), said.clone()], tools.clone()].concat();
            prop_assert_eq!(chat(&[], &items), Value::from(sent_back));
            let stored = [vec![said.clone()], tools.clone(), vec![user.clone()]].concat();
            prop_assert_eq!(chat(&items, &[]), Value::from(stored));
        }
    }
}
