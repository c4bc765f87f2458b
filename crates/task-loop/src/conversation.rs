//! The messages of a conversation, in a form that can be stored and sent to any model.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::attachment::{Attachment, MediaKind};

/// Maximum length of call arguments from a model.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        text: String,
    },
    User {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    Assistant {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    Tool {
        id: String,
        name: String,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), attachments: Vec::new() }
    }

    /// The replacement of messages that the model summarised. It is no system message: it may
    /// contain text from tools.
    pub(crate) fn summary(text: &str) -> Self {
        Self::user(format!(
            "[summary of the earlier messages, written by the assistant]\n{text}\n[end of the \
             summary]"
        ))
    }

    pub(crate) fn is_user(&self) -> bool {
        matches!(self, Self::User { .. })
    }

    pub fn tool(id: String, name: String, text: String) -> Self {
        Self::Tool { id, name, text, attachments: Vec::new() }
    }

    pub fn attachments(&self) -> &[Attachment] {
        match self {
            Self::User { attachments, .. } | Self::Tool { attachments, .. } => attachments,
            Self::System { .. } | Self::Assistant { .. } => &[],
        }
    }

    /// Removes the attachments for which `is_gone` holds, and notes that in the text. Returns
    /// their number.
    pub(crate) fn drop_attachments(
        &mut self,
        why: &str,
        is_gone: impl Fn(&Attachment) -> bool,
    ) -> usize {
        let (Self::User { text, attachments } | Self::Tool { text, attachments, .. }) = self else {
            return 0;
        };
        let gone = attachments.extract_if(.., |one| is_gone(one));
        let notes: Vec<String> = gone.map(|one| format!("\n[{one}: removed, {why}]")).collect();
        text.push_str(&notes.concat());
        notes.len()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// JSON, unless the model made an error.
    pub arguments: String,
}

impl Call {
    /// The call in the conversation: arguments that are too long to be sent would only fill the
    /// context window.
    pub(crate) fn stored(&self) -> Self {
        let mut stored = self.clone();
        if stored.arguments.len() > MAX_ARGUMENT_BYTES {
            "{}".clone_into(&mut stored.arguments);
        }
        stored
    }
}

/// Receives every message when it is added to a conversation, before any cuts.
pub trait Journal: fmt::Debug + Send + Sync {
    fn push_message(&mut self, message: &Message);

    /// A summary replaces all messages after the opening but the last `kept`.
    fn summarised(&mut self, summary: &str, kept: usize);
}

#[derive(Debug, Default)]
pub struct Conversation {
    pub(crate) messages: Vec<Message>,
    /// Scope of idempotency: requests with the same scope and body are the same.
    pub(crate) scope: Uuid,
    journal: Option<Box<dyn Journal>>,
    /// Models, and kinds of attachments that they rejected.
    rejected: BTreeSet<(String, MediaKind)>,
}

impl Conversation {
    pub fn new(system: impl Into<String>) -> Self {
        Self::of(vec![Message::System { text: system.into() }])
    }

    pub fn of(messages: Vec<Message>) -> Self {
        Self { messages, scope: Uuid::new_v4(), ..Self::default() }
    }

    /// Replaces the system message, which has the date, by that of a new conversation.
    pub fn open_like(&mut self, new: Self) {
        if let Some(first @ Message::System { .. }) = self.messages.first_mut()
            && let Some(opening) = new.messages.into_iter().next()
        {
            *first = opening;
        }
    }

    /// Keeps the conversation under an id. A request that is repeated after the program was
    /// killed is the same request, which is charged once.
    #[must_use]
    pub fn kept_as(mut self, id: &str, journal: Box<dyn Journal>) -> Self {
        self.scope = Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes());
        self.journal = Some(journal);
        self
    }

    pub fn push(&mut self, message: Message) {
        if let Some(journal) = &mut self.journal {
            journal.push_message(&message);
        }
        self.messages.push(message);
    }

    /// Replaces messages by a summary. Returns their number.
    pub(crate) fn summarise(&mut self, span: Range<usize>, summary: &str) -> usize {
        if let Some(journal) = &mut self.journal {
            journal.summarised(summary, self.messages.len() - span.end);
        }
        let span = without_question(&mut self.messages, span);
        let count = span.len();
        self.messages.splice(span, [Message::summary(summary)]);
        count
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Records that a model rejects the first of the kinds that it was sent. Returns the kind,
    /// and the number of its attachments.
    pub(crate) fn reject_kind(
        &mut self,
        model: &str,
        sent: &BTreeSet<MediaKind>,
    ) -> Option<(MediaKind, usize)> {
        let all = || self.messages.iter().flat_map(Message::attachments);
        let count = |kind: &MediaKind| all().filter(|one| one.kind == *kind).count();
        let kind =
            MediaKind::ALL.into_iter().find(|kind| sent.contains(kind) && count(kind) > 0)?;
        let count = count(&kind);
        self.rejected.insert((model.to_owned(), kind));
        Some((kind, count))
    }

    pub(crate) fn is_rejected(&self, model: &str, kind: MediaKind) -> bool {
        self.rejected.iter().any(|(by, rejected)| by == model && *rejected == kind)
    }

    /// The model's text since the last message of the person.
    pub fn answer(&self) -> String {
        let said = self.messages.iter().rev().take_while(|m| !m.is_user());
        let mut texts = said.filter_map(|message| match message {
            Message::Assistant { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        texts.next().unwrap_or_default()
    }

    /// Adds a result with the reason to every call without one: models reject open calls. Returns
    /// these calls.
    pub fn close_open_calls(&mut self, why: &str) -> Vec<Call> {
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
            self.push(Message::tool(id, name, text));
        }
        open
    }
}

/// Moves the latest question behind a span that ends within its turn. Returns the rest of the
/// span.
pub(crate) fn without_question(messages: &mut [Message], span: Range<usize>) -> Range<usize> {
    let question = messages.iter().rposition(Message::is_user);
    match question.filter(|at| span.contains(at) && span.end < messages.len()) {
        Some(at) => {
            messages[at..span.end].rotate_left(1);
            span.start..span.end - 1
        }
        None => span,
    }
}

#[cfg(test)]
mod tests;
