//! Tests of `context_window`.

use super::*;
use crate::conversation::Call;

fn window(room: u64) -> ContextWindow {
    ContextWindow { room: Cell::new(room), shrinks: Cell::new(0) }
}

fn turn(conversation: &mut Conversation, n: usize, result: &str) {
    conversation.push(Message::user(format!("question {n}")));
    let id = n.to_string();
    let call = Call { id: id.clone(), name: "t".to_owned(), arguments: "{}".to_owned() };
    conversation.push(Message::Assistant { text: String::new(), calls: vec![call] });
    conversation.push(Message::tool(id, "t".to_owned(), result.to_owned()));
}

#[test]
fn fitting_conversations_are_unchanged() {
    let mut conversation = Conversation::new("s");
    turn(&mut conversation, 1, &"x".repeat(5000));
    let before = conversation.messages().to_vec();
    assert_eq!(window(10_000).fit(&mut conversation, &MediaKind::usual()), None);
    assert_eq!(conversation.messages(), before);
}

#[test]
fn the_oldest_results_are_removed_first_with_a_note() {
    let mut conversation = Conversation::new("s");
    for n in 0..3 {
        turn(&mut conversation, n, &"é".repeat(2000));
    }
    let cut = window(2600).fit(&mut conversation, &MediaKind::usual()).unwrap();
    assert_eq!((cut.results, cut.messages), (1, 0));
    let texts: Vec<&Message> = conversation.messages().iter().collect();
    assert!(matches!(texts[3], Message::Tool { text, .. }
        if text.contains("were removed") && text.contains("call t again")));
    assert!(matches!(texts[6], Message::Tool { text, .. } if text.len() == 4000));
}

#[test]
fn old_turns_are_removed_next_and_the_latest_question_kept() {
    let mut conversation = Conversation::new("the rules");
    for n in 0..5 {
        turn(&mut conversation, n, "short");
    }
    let cut = window(80).fit(&mut conversation, &MediaKind::usual()).unwrap();
    assert!(cut.messages >= 6, "{cut:?}");
    let messages = conversation.messages();
    assert_eq!(messages[0], Message::System { text: "the rules".to_owned() });
    assert!(matches!(&messages[1], Message::System { text } if text.contains("were removed")));
    assert!(messages.contains(&Message::user("question 4")));
}

#[test]
fn an_oversized_latest_result_keeps_head_and_tail() {
    let mut conversation = Conversation::new("s");
    let result = format!("begin{}end", "x".repeat(100_000));
    turn(&mut conversation, 1, &result);
    window(4000).fit(&mut conversation, &MediaKind::usual()).unwrap();
    let Message::Tool { text, .. } = conversation.messages().last().unwrap() else { panic!() };
    assert!(text.starts_with("begin") && text.ends_with("end") && text.len() < 5000);
}

fn image() -> Attachment {
    Attachment::new(b"\x89PNG\r\n\x1a\n", None).unwrap()
}

#[test]
fn only_the_newest_attachments_are_sent() {
    let mut conversation = Conversation::new("s");
    for n in 0..3 {
        let attachments = vec![image(); 9];
        conversation.push(Message::User { text: n.to_string(), attachments });
    }
    let cut = window(1_000_000).fit(&mut conversation, &MediaKind::usual()).unwrap();
    assert_eq!((cut.attachments, cut.messages), (27 - MAX_IN_REQUEST, 0));
    let left = conversation.messages().iter().map(|message| message.attachments().len());
    assert_eq!(left.collect::<Vec<_>>(), [0, 2, 9, 9]);
    let Message::User { text, .. } = &conversation.messages()[1] else { panic!() };
    assert_eq!(text.matches("[image/png, 8 bytes: removed, newer ones take its place]").count(), 7);
}

#[test]
fn total_attachment_size_is_bounded() {
    let mut bytes = b"%PDF".to_vec();
    bytes.resize(MAX_REQUEST_BYTES / 2, 0);
    let document = Attachment::new(&bytes, None).unwrap();
    let mut conversation = Conversation::new("s");
    for _ in 0..3 {
        let attachments = vec![document.clone()];
        conversation.push(Message::User { text: String::new(), attachments });
    }
    let cut = window(u64::MAX).fit(&mut conversation, &MediaKind::usual()).unwrap();
    assert_eq!(cut.attachments, 1);
    assert!(conversation.messages()[1].attachments().is_empty());
}

#[test]
fn attachments_of_old_results_are_removed_before_turns() {
    let mut conversation = Conversation::new("s");
    for n in 0..2 {
        turn(&mut conversation, n, "short");
        let Some(Message::Tool { attachments, .. }) = conversation.messages.last_mut() else {
            panic!()
        };
        attachments.push(image());
    }
    let cut = window(2000).fit(&mut conversation, &MediaKind::usual()).unwrap();
    assert_eq!((cut.attachments, cut.results, cut.messages), (1, 0, 0));
    assert_eq!(conversation.messages()[6].attachments().len(), 1, "the newest one stays");
}

#[test]
fn compaction_frees_half_of_the_window() {
    let mut conversation = Conversation::new("the rules");
    for n in 0..8 {
        turn(&mut conversation, n, "short");
    }
    let (messages, sent) = (conversation.messages(), MediaKind::usual());
    assert_eq!(window(10_000).oldest(messages, &sent), None);
    let all = total(messages, &sent);
    let span = window(all - 1).oldest(messages, &sent).unwrap();
    assert_eq!(span.start, 1, "the system message stays");
    assert!(matches!(&messages[span.end], Message::User { .. }), "turns go as a whole");
    assert!(total(&messages[span.end..], &sent) <= all / 2);
    // The latest question stays, however small the window is.
    let span = window(1).oldest(messages, &sent).unwrap();
    assert_eq!(messages[span.end], Message::user("question 7"));
    assert_eq!(window(1).newest("aéé"), "é");
}

/// A question that is answered in rounds with long arguments.
fn long_turn(rounds: usize) -> Conversation {
    let mut conversation = Conversation::new("the rules");
    conversation.push(Message::user("question"));
    for n in 0..rounds {
        let (id, name) = (n.to_string(), "t".to_owned());
        let call = Call { id: id.clone(), name: name.clone(), arguments: "x".repeat(3600) };
        conversation.push(Message::Assistant { text: String::new(), calls: vec![call] });
        conversation.push(Message::tool(id, name, "ok".to_owned()));
    }
    conversation
}

/// Whether a result follows each call, and nothing else is a result.
fn has_results(messages: &[Message]) -> bool {
    messages.chunk_by(|_, next| !matches!(next, Message::Assistant { .. })).skip(1).all(|round| {
        let [Message::Assistant { calls, .. }, Message::Tool { id, .. }] = round else {
            return false;
        };
        calls[0].id == *id
    })
}

#[test]
fn finished_rounds_of_a_long_turn_are_removed_and_its_question_kept() {
    let (mut conversation, sent) = (long_turn(9), MediaKind::usual());
    let span = window(8000).oldest(conversation.messages(), &sent).unwrap();
    assert!(span.start == 1 && has_results(&conversation.messages()[span.end - 1..]), "{span:?}");
    let cut = window(8000).fit(&mut conversation, &sent).unwrap();
    // Six rounds, so that half of the window is free.
    assert_eq!((cut.messages, cut.results), (12, 0));
    let messages = conversation.messages();
    assert!(matches!(&messages[1], Message::System { text } if text.starts_with("[12 earlier")));
    assert_eq!(messages[2], Message::user("question"));
    assert!(messages.len() == 9 && has_results(&messages[2..]), "{messages:?}");
    // The latest round stays, however small the window is.
    window(1).fit(&mut conversation, &sent).unwrap();
    assert!(has_results(&conversation.messages()[3..]));
    assert_eq!(conversation.messages().len(), 6);
    assert_eq!(window(1).oldest(long_turn(1).messages(), &sent), None);
}
