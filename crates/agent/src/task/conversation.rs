//! What was said so far, in a form that can be kept and sent to any model.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::end::TaskEnd;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(crate) enum Message {
    /// What the model should know before all else.
    System { text: String },
    /// What the person said.
    User { text: String },
    /// What the model said and wants done.
    Assistant {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// What a tool gave back.
    Tool { id: String, name: String, text: String },
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON, if the model is well.
    pub(crate) arguments: String,
}

/// Hears every message as it becomes part of a conversation. What is cut later was heard whole.
pub(crate) trait Journal: fmt::Debug + Send + Sync {
    /// This was said.
    fn said(&mut self, message: &Message);
}

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Message>,
    journal: Option<Box<dyn Journal>>,
}

impl Conversation {
    /// A conversation that begins with what the model should know.
    pub(crate) fn new(system: impl Into<String>) -> Self {
        Self::of(vec![Message::System { text: system.into() }])
    }

    /// A conversation that was kept.
    pub(crate) fn of(messages: Vec<Message>) -> Self {
        Self { messages, journal: None }
    }

    /// Says anew what the model should know before all else: it is another day by now.
    pub(crate) fn open_with(&mut self, opening: Message) {
        if let Some(first @ Message::System { .. }) = self.messages.first_mut() {
            *first = opening;
        }
    }

    /// From now on, what is said is told to this journal as well.
    pub(crate) fn told_to(mut self, journal: Box<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    pub(crate) fn push(&mut self, message: Message) {
        if let Some(journal) = &mut self.journal {
            journal.said(&message);
        }
        self.messages.push(message);
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn messages_mut(&mut self) -> &mut Vec<Message> {
        &mut self.messages
    }

    /// What the model said last, since the person spoke.
    pub(crate) fn answer(&self) -> String {
        let said = self.messages.iter().rev().take_while(|m| !matches!(m, Message::User { .. }));
        let mut texts = said.filter_map(|message| match message {
            Message::Assistant { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        texts.next().unwrap_or_default()
    }

    /// Gives every call that has no result one that says why, so that the conversation can go on.
    /// Tells which these were.
    pub(super) fn close_open_calls(&mut self, end: &TaskEnd) -> Vec<Call> {
        self.answer_open_calls(&format!("the task ended ({end})"))
    }

    /// The same for a conversation that was kept by a program that did not end well.
    pub(crate) fn close_lost_calls(&mut self) -> Vec<Call> {
        self.answer_open_calls("the program ended")
    }

    fn answer_open_calls(&mut self, why: &str) -> Vec<Call> {
        let Some(at) = self.messages.iter().rposition(|m| matches!(m, Message::Assistant { .. }))
        else {
            return Vec::new();
        };
        let Message::Assistant { calls, .. } = &self.messages[at] else { return Vec::new() };
        let has_result = |call: &Call| {
            let after = &self.messages[at + 1..];
            after.iter().any(|m| matches!(m, Message::Tool { id, .. } if *id == call.id))
        };
        let open: Vec<Call> = calls.iter().filter(|call| !has_result(call)).cloned().collect();
        for Call { id, name, .. } in open.clone() {
            let text = format!("[no result: {why}; it may or may not have run]");
            self.push(Message::Tool { id, name, text });
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::super::end::EndCause;
    use super::*;

    fn call(id: &str) -> Call {
        Call { id: id.to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() }
    }

    #[test]
    fn what_is_kept_reads_back() {
        let all = vec![
            Message::System { text: "be good".to_owned() },
            Message::User { text: "hi\n\"you\"".to_owned() },
            Message::Assistant { text: String::new(), calls: vec![call("1")] },
            Message::Tool { id: "1".to_owned(), name: "t".to_owned(), text: "ok".to_owned() },
            Message::Assistant { text: "done".to_owned(), calls: Vec::new() },
        ];
        let lines: Vec<String> =
            all.iter().map(|message| serde_json::to_string(message).unwrap()).collect();
        let back: Vec<Message> =
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(back, all);
        assert_eq!(Conversation::of(back).answer(), "done");
    }

    #[test]
    fn every_call_gets_a_result_however_a_task_ends() {
        let mut conversation = Conversation::new("s");
        conversation.push(Message::User { text: "go".to_owned() });
        let calls = vec![call("1"), call("2")];
        conversation.push(Message::Assistant { text: String::new(), calls });
        let result = Message::Tool { id: "1".into(), name: "t".into(), text: "ok".into() };
        conversation.push(result);
        let open = conversation.close_open_calls(&TaskEnd::of(EndCause::Cancelled));
        assert_eq!(open, [call("2")]);
        let last = conversation.messages().last().unwrap();
        assert!(matches!(last, Message::Tool { id, text, .. }
            if id == "2" && text.contains("may or may not have run")));
        assert!(conversation.close_open_calls(&TaskEnd::of(EndCause::Cancelled)).is_empty());
    }

    #[test]
    fn a_journal_hears_everything_that_is_said_from_then_on() {
        #[derive(Debug)]
        struct Heard(std::sync::mpsc::Sender<Message>);
        impl Journal for Heard {
            fn said(&mut self, message: &Message) {
                self.0.send(message.clone()).unwrap();
            }
        }
        let (sender, heard) = std::sync::mpsc::channel();
        let mut conversation = Conversation::new("s").told_to(Box::new(Heard(sender)));
        conversation.push(Message::Assistant { text: String::new(), calls: vec![call("1")] });
        assert_eq!(conversation.close_lost_calls(), [call("1")]);
        drop(conversation);
        let heard: Vec<Message> = heard.iter().collect();
        assert_eq!(heard.len(), 2);
        assert!(matches!(&heard[1], Message::Tool { text, .. }
            if text == "[no result: the program ended; it may or may not have run]"));
    }

    #[test]
    fn the_answer_is_of_this_turn() {
        let mut conversation = Conversation::new("s");
        conversation.push(Message::User { text: "one".to_owned() });
        conversation.push(Message::Assistant { text: "first".to_owned(), calls: Vec::new() });
        conversation.push(Message::User { text: "two".to_owned() });
        assert_eq!(conversation.answer(), "");
    }
}
