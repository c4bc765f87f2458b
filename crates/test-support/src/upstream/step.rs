//! The possible responses to a request, and the names by which a third-party client chooses them.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{IntoDeserializer, value};

/// Size of the huge answer unless its name has one: above any limit of a proxy.
const HUGE_MEBIBYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A correct answer that repeats the last user message. With tools, if one is required or the
    /// message contains the word `tool` or a tool's name: a call with matching arguments (two calls
    /// for `both tools`). After the result of a tool: `tool said: …`. With a JSON schema: a
    /// matching value. With images: `I saw N images`.
    Echo,
    /// `I saw N images`, whatever else the request says.
    #[serde(skip)]
    Images,
    /// [`Echo`](Self::Echo) after a delay.
    Slow(Duration),
    /// This many words, one per event, with a pause before each.
    Drip(usize, Duration),
    /// This many words, one per event, without pauses.
    Chunks(usize),
    /// [`Echo`](Self::Echo) in pieces of three bytes that split events and characters, with
    /// comments in between and CR LF line ends.
    Shatter,
    /// Sends nothing until [`Upstream::open_gate`](super::Upstream::open_gate), then echoes.
    Gate,
    /// The first event, then the rest after the gate is opened.
    GateMid,
    /// The first text, word by word, then the second one after the gate is opened.
    #[serde(skip)]
    GateBetween(&'static str, &'static str),
    /// Closes the connection without a byte.
    CutBeforeFirst,
    /// Closes the connection after the status and the headers.
    CutAfterHead,
    /// Closes the connection after this many events, before the end of the body.
    CutAfter(usize),
    /// Closes the connection in the middle of an event, or of a body with a length.
    CutMidEvent,
    /// Resets the connection without a byte.
    Reset,
    /// Resets the connection after the first events.
    ResetMid,
    /// A body or an event that is not JSON.
    MalformedJson,
    /// Lines that are not events and bytes that are not UTF-8.
    MalformedSse,
    /// The documented error of this status; 429 and 503 have `Retry-After: 1`. The message contains
    /// the server's address and key, which must not be passed on.
    Status(u16),
    /// The same with this many seconds in `Retry-After`.
    RetryAfter(u16, u64),
    /// An HTML page with status 502.
    HtmlError,
    /// Sends nothing, for ever.
    Hang,
    /// Sends nothing more after the first events.
    HangMid,
    Empty,
    /// A stream that ends cleanly, but without its end marker.
    NoDone,
    /// A stream with an error event; whole: status 200 with an error as body.
    ErrorEvent,
    /// [`Echo`](Self::Echo) without usage.
    NoUsage,
    /// [`Echo`](Self::Echo) with an impossible usage.
    LiesUsage,
    /// An answer of this many MiB, in one event.
    Huge(usize),
    /// An answer without end, as fast as the client reads it.
    Endless,
    /// The responder's answer to the last user message, after a delay.
    #[serde(skip)]
    Speak(Responder, Duration),
    /// This text, word by word, and these calls: names and raw arguments.
    #[serde(skip)]
    Turn(&'static str, Vec<(String, String)>),
    /// These bytes as a whole response.
    #[serde(skip)]
    Raw {
        status: u16,
        media_type: String,
        body: Vec<u8>,
    },
    /// These bytes as an event stream, one write each.
    #[serde(skip)]
    RawStream(Vec<Vec<u8>>),
}

/// Makes an answer from the last user message.
#[derive(Debug, Clone, Copy)]
pub struct Responder(pub fn(&str) -> String);

/// Two responders are equal if they are the same function.
impl PartialEq for Responder {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Responder {}

impl Step {
    /// The step of this name: its variant in kebab case, then its numbers, as in `cut-mid-event`,
    /// `drip-WORDS-MS`, `retry-STATUS-SECONDS` and `huge-MIB`.
    pub fn named(name: &str) -> Option<Self> {
        if name == "huge" {
            return Some(Self::Huge(HUGE_MEBIBYTES));
        }
        let plain: Result<Self, value::Error> = Self::deserialize(name.into_deserializer());
        plain.ok().or_else(|| Self::with_numbers(name))
    }

    fn with_numbers(name: &str) -> Option<Self> {
        let (kind, numbers) = name.split_at(name.find(|letter: char| letter.is_ascii_digit())?);
        let numbers: Result<Vec<u64>, _> = numbers.split('-').map(str::parse).collect();
        let count = |number: u64| usize::try_from(number).ok();
        let status = |number: u64| u16::try_from(number).ok();
        Some(match (kind, &numbers.ok()?[..]) {
            ("slow-", &[pause]) => Self::Slow(Duration::from_millis(pause)),
            ("drip-", &[words, pause]) => Self::Drip(count(words)?, Duration::from_millis(pause)),
            ("chunks-", &[words]) => Self::Chunks(count(words)?),
            ("cut-after-", &[events]) => Self::CutAfter(count(events)?),
            ("huge-", &[size]) => Self::Huge(count(size)?),
            ("retry-", &[code, seconds]) => Self::RetryAfter(status(code)?, seconds),
            ("status-", &[code @ 400..600]) => Self::Status(status(code)?),
            _ => return None,
        })
    }

    /// The step that a message names in double brackets.
    pub(super) fn marked(message: &str) -> Option<Self> {
        let (_, after) = message.split_once("[[")?;
        Self::named(after.split_once("]]")?.0)
    }
}

#[cfg(test)]
mod tests;
