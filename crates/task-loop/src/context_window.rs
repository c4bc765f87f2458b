//! Fits a conversation into the window of its model: drops old results of tools first, then
//! old turns, then finished rounds of the latest turn, each with a note.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::attachment::{Attachment, MAX_IN_REQUEST, MAX_REQUEST_BYTES, MediaKind};
use crate::conversation::{Conversation, Message, without_question};
use crate::member::MemberError;
use crate::model::Model;
use crate::toolbox::Definition;

/// Default window of a model.
const UNKNOWN_WINDOW: u64 = 128 * 1024;
/// Maximum share of the window for the conversation, in percent; the rest is for the answer.
const SHARE: u64 = 75;
/// Approximate bytes per token, in tenths.
const BYTES_OF_A_TOKEN: u64 = 36;
/// The token overhead of every message.
const MESSAGE_TOKENS: u64 = 8;
/// Results up to this size are not cut.
const SMALL_BYTES: usize = 400;
/// Bytes kept at both ends of each result of the latest round, if those alone are too long.
const ENDS_BYTES: usize = 2000;
const WHY: &str = "to fit the context window";
/// Maximum number of times that the window is halved.
const MAX_SHRINKS: u32 = 4;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trimmed {
    pub results: usize,
    pub messages: usize,
    pub attachments: usize,
    /// Its length in bytes.
    pub characters: usize,
}

#[derive(Debug)]
pub(crate) struct ContextWindow {
    room: Cell<u64>,
    shrinks: Cell<u32>,
}

impl ContextWindow {
    pub(crate) fn of(model: &Model, tools: &[Definition], instructions: Option<&str>) -> Self {
        let all = model.context_length.unwrap_or(UNKNOWN_WINDOW) * SHARE / 100;
        let tools: u64 = tools.iter().map(|tool| u64::from(tool.tokens)).sum();
        let taken = tools + tokens(instructions.map_or(0, str::len));
        // Even a window full of tools has room for a question.
        Self { room: Cell::new(all.saturating_sub(taken).max(all / 8)), shrinks: Cell::new(0) }
    }

    /// Halves the assumed window, after the model reported that it is too small.
    pub(crate) fn shrink(&self) -> bool {
        self.shrinks.set(self.shrinks.get() + 1);
        self.room.set(self.room.get() / 2);
        self.shrinks.get() <= MAX_SHRINKS
    }

    /// The oldest turns, and then the finished rounds of the latest turn, to drop so that half of
    /// the window is free, if the conversation does not fit without old results.
    pub(crate) fn oldest(
        &self,
        messages: &[Message],
        sent: &BTreeSet<MediaKind>,
    ) -> Option<Range<usize>> {
        let latest = latest_round(messages);
        let size = |(at, message): (usize, &Message)| match message {
            Message::Tool { .. } if at < latest => {
                size(message, &BTreeSet::new()).min(MESSAGE_TOKENS + tokens(SMALL_BYTES))
            }
            _ => size(message, sent),
        };
        let sizes: Vec<u64> = messages.iter().enumerate().map(size).collect();
        let (first, room) = (opening(messages), self.room.get());
        let mut left: u64 = sizes.iter().sum();
        if left <= room {
            return None;
        }
        let question = messages.iter().rposition(Message::is_user);
        let is_begin = |at: &usize| match messages[*at] {
            Message::User { .. } => true,
            Message::Assistant { .. } => question.is_none_or(|question| question + 1 < *at),
            _ => false,
        };
        let mut end = first;
        while left > room / 2
            && let Some(next) = (end + 1..messages.len()).find(is_begin)
        {
            let dropped = (end..next).filter(|at| question != Some(*at));
            left -= dropped.map(|at| sizes[at]).sum::<u64>();
            end = next;
        }
        (first..end).any(|at| question != Some(at)).then_some(first..end)
    }

    /// The end of a text that fits.
    pub(crate) fn newest<'t>(&self, text: &'t str) -> &'t str {
        let most = self.room.get().saturating_mul(BYTES_OF_A_TOKEN) / 10;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
    }

    pub(crate) fn fit(
        &self,
        conversation: &mut Conversation,
        sent: &BTreeSet<MediaKind>,
    ) -> Option<Trimmed> {
        let mut cut = Trimmed::default();
        let messages = &mut conversation.messages;
        cut.old_attachments(messages);
        let fits = |messages: &[Message]| total(messages, sent) <= self.room.get();
        for at in 0..latest_round(messages) {
            if fits(messages) {
                break;
            }
            cut.result(&mut messages[at], 0);
        }
        if let Some(span) = self.oldest(messages, sent) {
            cut.oldest(messages, span);
        }
        let mut at = 0;
        while at < messages.len() && !fits(messages) {
            cut.result(&mut messages[at], ENDS_BYTES);
            at += 1;
        }
        (cut != Trimmed::default()).then_some(cut)
    }
}

impl Trimmed {
    /// Keeps the newest attachments, up to the limit of a request.
    fn old_attachments(&mut self, messages: &mut [Message]) {
        let all = || messages.iter().rev().flat_map(|m| m.attachments().iter().rev());
        let mut bytes = 0;
        let fits = |one: &&Attachment| {
            bytes += one.bytes();
            bytes <= MAX_REQUEST_BYTES
        };
        let kept = all().take(MAX_IN_REQUEST).take_while(fits).count();
        let mut gone = all().count() - kept;
        for message in messages {
            let first = Cell::new(gone);
            let is_gone = |_: &Attachment| first.replace(first.get().saturating_sub(1)) > 0;
            let dropped = message.drop_attachments("newer ones take its place", is_gone);
            gone -= dropped;
            self.attachments += dropped;
        }
    }

    fn oldest(&mut self, messages: &mut Vec<Message>, span: Range<usize>) {
        let span = without_question(messages, span);
        let text = format!(
            "[{} earlier messages of this conversation were removed to fit the context window]",
            span.len()
        );
        self.messages += span.len();
        self.characters += messages[span.clone()].iter().map(bytes).sum::<usize>();
        messages.splice(span, [Message::System { text }]);
    }

    fn result(&mut self, message: &mut Message, ends: usize) {
        if matches!(message, Message::Tool { .. }) {
            self.attachments += message.drop_attachments(WHY, |_| true);
        }
        let Message::Tool { text, name, .. } = message else { return };
        if text.len() <= SMALL_BYTES + 2 * ends {
            return;
        }
        let head = &text[..text.floor_char_boundary(ends)];
        let tail = &text[text.ceil_char_boundary(text.len() - ends)..];
        let gone = text.len() - head.len() - tail.len();
        let note = format!(
            "[{gone} bytes of this result were removed to fit the context window; call {name} \
             again if you need them]"
        );
        let short = [head, &note, tail].join(if ends == 0 { "" } else { "\n" });
        self.results += 1;
        self.characters += gone;
        *text = short;
    }
}

/// The number of leading system messages.
pub(crate) fn opening(messages: &[Message]) -> usize {
    messages.iter().take_while(|m| matches!(m, Message::System { .. })).count()
}

/// The index of the latest answer of the model, which its results follow.
fn latest_round(messages: &[Message]) -> usize {
    let latest = messages.iter().rposition(|m| matches!(m, Message::Assistant { .. }));
    latest.unwrap_or(messages.len())
}

fn bytes(message: &Message) -> usize {
    match message {
        Message::System { text } | Message::User { text, .. } | Message::Tool { text, .. } => {
            text.len()
        }
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| call.name.len() + call.arguments.len());
            text.len() + calls.sum::<usize>()
        }
    }
}

fn total(messages: &[Message], sent: &BTreeSet<MediaKind>) -> u64 {
    messages.iter().map(|message| size(message, sent)).sum()
}

fn size(message: &Message, sent: &BTreeSet<MediaKind>) -> u64 {
    let attached = message.attachments().iter().filter(|one| sent.contains(&one.kind));
    MESSAGE_TOKENS + tokens(bytes(message)) + attached.map(Attachment::tokens).sum::<u64>()
}

pub(crate) fn tokens(bytes: usize) -> u64 {
    (bytes as u64 * 10).div_ceil(BYTES_OF_A_TOKEN)
}

pub(crate) fn is_too_long(trouble: &MemberError) -> bool {
    let MemberError::Refused { status, detail, .. } = trouble else { return false };
    let message = detail.message.to_lowercase();
    let code = detail.code.as_deref().unwrap_or_default();
    matches!(status.as_u16(), 400 | 413)
        && (code == "context_length_exceeded"
            || message.contains("context")
                && ["length", "window", "exceed", "too long"].iter().any(|w| message.contains(w)))
}

#[cfg(test)]
mod tests;
