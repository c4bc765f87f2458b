//! Tests of `conversation`.

use super::*;

fn call(id: &str) -> Call {
    Call { id: id.to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() }
}

#[test]
fn stored_conversations_round_trip() {
    let all = vec![
        Message::System { text: "be good".to_owned() },
        Message::user("hi\n\"you\""),
        Message::Assistant { text: String::new(), calls: vec![call("1")] },
        Message::tool("1".to_owned(), "t".to_owned(), "ok".to_owned()),
        Message::Assistant { text: "done".to_owned(), calls: Vec::new() },
    ];
    let lines: Vec<String> =
        all.iter().map(|message| serde_json::to_string(message).unwrap()).collect();
    let back: Vec<Message> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(back, all);
    assert_eq!(Conversation::of(back).answer(), "done");
}

#[test]
fn every_call_gets_a_result_for_every_task_end() {
    let mut conversation = Conversation::new("s");
    conversation.push(Message::user("go"));
    let calls = vec![call("1"), call("2")];
    conversation.push(Message::Assistant { text: String::new(), calls });
    let result = Message::tool("1".into(), "t".into(), "ok".into());
    conversation.push(result);
    let open = conversation.close_open_calls("the task ended (interrupted)");
    assert_eq!(open, [call("2")]);
    let last = conversation.messages().last().unwrap();
    assert!(matches!(last, Message::Tool { id, text, .. }
        if id == "2" && text.contains("may or may not have run")));
    assert!(conversation.close_open_calls("the task ended (interrupted)").is_empty());
}

#[test]
fn a_journal_receives_every_later_message() {
    #[derive(Debug)]
    struct Heard(std::sync::mpsc::Sender<Message>);
    impl Journal for Heard {
        fn push_message(&mut self, message: &Message) {
            self.0.send(message.clone()).unwrap();
        }

        fn summarised(&mut self, _: &str, _: usize) {}
    }
    let (sender, heard) = std::sync::mpsc::channel();
    let mut conversation = Conversation::new("s").kept_as("a", Box::new(Heard(sender)));
    conversation.push(Message::Assistant { text: String::new(), calls: vec![call("1")] });
    assert_eq!(conversation.close_open_calls("the program ended"), [call("1")]);
    drop(conversation);
    let heard: Vec<Message> = heard.iter().collect();
    assert_eq!(heard.len(), 2);
    assert!(matches!(&heard[1], Message::Tool { text, .. }
        if text == "[no result: the program ended; it may or may not have run]"));
}

#[test]
fn the_answer_belongs_to_the_current_turn() {
    let mut conversation = Conversation::new("s");
    conversation.push(Message::user("one"));
    conversation.push(Message::Assistant { text: "first".to_owned(), calls: Vec::new() });
    conversation.push(Message::user("two"));
    assert_eq!(conversation.answer(), "");
}
