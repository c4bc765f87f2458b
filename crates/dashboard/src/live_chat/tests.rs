//! Long answers keep their events.

use super::*;

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn long_answers_keep_all_text_and_every_other_event() {
    let mut turn = Turn { is_busy: true, ..Turn::new(7) };
    turn.add(json!({"type": "said", "text": "tell me"}));
    turn.add(text("start "));
    for _ in 0..MAX_EVENTS {
        turn.add(json!({"type": "tool_progress", "id": "1", "text": "…"}));
        turn.add(text("x"));
    }
    turn.add(json!({"type": "question", "question": 1}));
    assert!(turn.is_busy);
    turn.add(json!({"type": "idle"}));
    assert!(!turn.is_busy && turn.events.len() <= MAX_EVENTS, "{}", turn.events.len());
    let said: String = turn.events.iter().filter_map(|(_, it)| it["text"].as_str()).collect();
    assert_eq!(said.matches('x').count(), MAX_EVENTS);
    assert!(said.starts_with("tell mestart x"));
    let (last, others) = turn.events.split_last().unwrap();
    assert_eq!((&last.1["type"], last.0 + 1), (&json!("idle"), turn.next));
    assert_eq!(others.last().unwrap().1["type"], "question");
    assert!(turn.events.is_sorted_by_key(|(number, _)| *number));
}

#[test]
fn events_that_cannot_be_merged_are_kept() {
    let mut turn = Turn::new(0);
    for id in 0..=MAX_EVENTS {
        turn.add(json!({"type": "tool_call", "id": id}));
    }
    assert_eq!(turn.events.len(), MAX_EVENTS + 1);
}
