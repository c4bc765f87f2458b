//! What can become of one request, and the names by which a foreign client asks for it.

use std::time::Duration;

/// The largest answer unless the name says another: over any limit that a proxy may have.
const HUGE_MEBIBYTES: usize = 64;

/// What becomes of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A correct answer: the last user message again. With tools, when it must call one or the message
    /// has the word `tool` or the name of one: a call whose arguments fit (two calls for `both tools`).
    /// After the result of a tool: `tool said: …`. With a JSON schema: a value that fits. With images:
    /// `I saw N images`.
    Echo,
    /// [`Echo`](Self::Echo), after some time without a byte.
    Slow(Duration),
    /// So many words, one to an event, with some time before each.
    Drip(usize, Duration),
    /// So many words, one to an event, at once.
    Chunks(usize),
    /// [`Echo`](Self::Echo), in pieces of three bytes that respect neither events nor characters, with
    /// comments in between and lines that end in CR LF.
    Shatter,
    /// Waits without a byte until [`Upstream::open_gate`](super::Upstream::open_gate), then echoes.
    Gate,
    /// The first event, then waits until the gate is opened, then the rest.
    GateMid,
    /// Goes away without a byte.
    CutBeforeFirst,
    /// Goes away after the status and the headers.
    CutAfterHead,
    /// Goes away after so many events, without an end of the body.
    CutAfter(usize),
    /// Goes away in the middle of an event, or of a body whose length was said.
    CutMidEvent,
    /// Breaks the connection without a byte.
    Reset,
    /// Breaks the connection after the first events.
    ResetMid,
    /// A body, or an event, that is no JSON.
    MalformedJson,
    /// Lines that are no events and bytes that are no text.
    MalformedSse,
    /// The documented error of this status; 429 and 503 say `Retry-After: 1`. Its message has the
    /// server's address and key in it, which nobody must pass on.
    Status(u16),
    /// The same with this many seconds in `Retry-After`.
    RetryAfter(u16, u64),
    /// A web page with status 502.
    HtmlError,
    /// Says nothing for ever.
    Hang,
    /// Says nothing more after the first events.
    HangMid,
    /// An answer without content.
    Empty,
    /// A stream that ends in order, but without its end marker.
    NoDone,
    /// A stream with an error in it; whole: status 200 with an error as body.
    ErrorEvent,
    /// [`Echo`](Self::Echo) that never says usage.
    NoUsage,
    /// [`Echo`](Self::Echo) with a usage that cannot be.
    LiesUsage,
    /// An answer of so many MiB, in one event.
    Huge(usize),
    /// An answer that never ends, as fast as the client takes it.
    Endless,
    /// What the speaker says to the last user message, after some time without a byte.
    Speak(Speaker, Duration),
    /// This text, word by word, and these calls: names, and arguments as they are sent.
    Turn(&'static str, Vec<(String, String)>),
    /// These bytes as a whole answer.
    Raw {
        /// The status.
        status: u16,
        /// The media type.
        media_type: String,
        /// The body.
        body: Vec<u8>,
    },
    /// These bytes as a stream of events, each with a write of its own.
    RawStream(Vec<Vec<u8>>),
}

/// Makes an answer of the last user message.
#[derive(Debug, Clone, Copy)]
pub struct Speaker(pub fn(&str) -> String);

/// Two speakers are the same if they are the same function.
impl PartialEq for Speaker {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Speaker {}

impl Step {
    /// The step of this name:
    ///
    /// | name | step |
    /// |---|---|
    /// | `echo`, `slow-MS`, `drip-N-MS`, `chunks-N`, `shatter` | correct answers |
    /// | `gate`, `gate-mid` | correct, but wait for the test |
    /// | `cut-before-first`, `cut-after-head`, `cut-after-N`, `cut-mid-event` | the connection ends |
    /// | `reset`, `reset-mid` | the connection breaks |
    /// | `malformed-json`, `malformed-sse` | cannot be read |
    /// | `status-NNN`, `retry-NNN-SECONDS`, `html-error`, `error-event` | errors |
    /// | `hang`, `hang-mid`, `endless` | never end |
    /// | `empty`, `no-done`, `no-usage`, `lies-usage`, `huge`, `huge-MIB` | end, but not well |
    pub fn named(name: &str) -> Option<Self> {
        let plain = match name {
            "echo" => Self::Echo,
            "shatter" => Self::Shatter,
            "gate" => Self::Gate,
            "gate-mid" => Self::GateMid,
            "cut-before-first" => Self::CutBeforeFirst,
            "cut-after-head" => Self::CutAfterHead,
            "cut-mid-event" => Self::CutMidEvent,
            "reset" => Self::Reset,
            "reset-mid" => Self::ResetMid,
            "malformed-json" => Self::MalformedJson,
            "malformed-sse" => Self::MalformedSse,
            "html-error" => Self::HtmlError,
            "hang" => Self::Hang,
            "hang-mid" => Self::HangMid,
            "empty" => Self::Empty,
            "no-done" => Self::NoDone,
            "error-event" => Self::ErrorEvent,
            "no-usage" => Self::NoUsage,
            "lies-usage" => Self::LiesUsage,
            "huge" => Self::Huge(HUGE_MEBIBYTES),
            "endless" => Self::Endless,
            _ => return Self::with_numbers(name),
        };
        Some(plain)
    }

    fn with_numbers(name: &str) -> Option<Self> {
        let rest = |prefix: &str| name.strip_prefix(prefix);
        let milliseconds = |text: &str| text.parse().ok().map(Duration::from_millis);
        if let Some(pause) = rest("slow-") {
            return milliseconds(pause).map(Self::Slow);
        }
        if let Some(both) = rest("drip-") {
            let (count, pause) = both.split_once('-')?;
            return Some(Self::Drip(count.parse().ok()?, milliseconds(pause)?));
        }
        if let Some(count) = rest("chunks-") {
            return count.parse().ok().map(Self::Chunks);
        }
        if let Some(count) = rest("cut-after-") {
            return count.parse().ok().map(Self::CutAfter);
        }
        if let Some(size) = rest("huge-") {
            return size.parse().ok().map(Self::Huge);
        }
        if let Some(both) = rest("retry-") {
            let (status, seconds) = both.split_once('-')?;
            return Some(Self::RetryAfter(status.parse().ok()?, seconds.parse().ok()?));
        }
        let status = rest("status-")?.parse().ok()?;
        (400..600).contains(&status).then_some(Self::Status(status))
    }

    /// The step that a message asks for in double brackets.
    pub(super) fn marked(message: &str) -> Option<Self> {
        let (_, after) = message.split_once("[[")?;
        Self::named(after.split_once("]]")?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_are_read_whole() {
        let ms = Duration::from_millis;
        assert_eq!(Step::named("slow-250"), Some(Step::Slow(ms(250))));
        assert_eq!(Step::named("drip-3-10"), Some(Step::Drip(3, ms(10))));
        assert_eq!(Step::named("cut-after-2"), Some(Step::CutAfter(2)));
        assert_eq!(Step::named("cut-after-head"), Some(Step::CutAfterHead));
        assert_eq!(Step::named("status-503"), Some(Step::Status(503)));
        assert_eq!(Step::named("retry-503-9"), Some(Step::RetryAfter(503, 9)));
        for wrong in ["status-200", "drip-3", "slow-", "chunks-x", "gpt-5", ""] {
            assert_eq!(Step::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_message_names_a_step_in_double_brackets() {
        assert_eq!(Step::marked("now [[hang]] please"), Some(Step::Hang));
        assert_eq!(Step::marked("now [[nothing]] please"), None);
        assert_eq!(Step::marked("hang"), None);
    }
}
