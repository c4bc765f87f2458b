//! Joining of messages that span several lines.
//!
//! Some servers pretty-print their JSON. Each byte is examined once: nesting and quotes determine
//! the end.

/// The longest message that is joined.
pub(super) const MAX_JOINED_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct LineJoiner {
    text: Vec<u8>,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum JoinResult {
    Incomplete,
    Complete(Vec<u8>),
    /// Not a message, or too long.
    Abandoned(Vec<u8>),
}

impl LineJoiner {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn push(&mut self, line: &[u8]) -> JoinResult {
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        for byte in line {
            match (*byte, self.quoted) {
                _ if self.escaped => self.escaped = false,
                (b'\\', true) => self.escaped = true,
                (b'"', _) => self.quoted = !self.quoted,
                (b'{' | b'[', false) => self.depth += 1,
                (b'}' | b']', false) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.text.extend_from_slice(line);
        // A JSON string cannot span lines.
        if self.quoted || self.text.len() > MAX_JOINED_BYTES {
            return JoinResult::Abandoned(self.take());
        }
        if self.depth == 0 { JoinResult::Complete(self.take()) } else { JoinResult::Incomplete }
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_when_its_last_bracket_closes() {
        let mut joined = LineJoiner::default();
        assert_eq!(joined.push(b"{"), JoinResult::Incomplete);
        assert_eq!(joined.push(br#"  "a": ["}", "\"]","#), JoinResult::Incomplete);
        assert_eq!(joined.push(b"  1]"), JoinResult::Incomplete);
        let whole = b"{\n  \"a\": [\"}\", \"\\\"]\",\n  1]\n}".to_vec();
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&whole).is_ok());
        assert_eq!(joined.push(b"}"), JoinResult::Complete(whole));
        assert!(joined.is_empty());
    }

    #[test]
    fn what_is_too_long_or_breaks_a_string_is_given_up() {
        let mut joined = LineJoiner::default();
        assert_eq!(joined.push(b"{\"a"), JoinResult::Abandoned(b"{\"a".to_vec()));
        assert_eq!(joined.push(b"["), JoinResult::Incomplete);
        assert!(matches!(joined.push(&vec![b'1'; MAX_JOINED_BYTES]), JoinResult::Abandoned(_)));
        assert!(joined.is_empty());
    }
}
