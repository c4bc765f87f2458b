//! A message that a server spreads over several lines.
//!
//! One line should be one message, but some servers print their JSON prettily. Each byte is looked
//! at once: depth and quotes say when the message is whole.

/// The longest message that is put together from several lines.
pub(super) const MAX_JOINED_BYTES: usize = 256 * 1024;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Joined {
    text: Vec<u8>,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

/// What became of the lines with one more.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// More lines belong to it.
    Begun,
    /// It is whole.
    Whole(Vec<u8>),
    /// It is no message, or too long to be put together.
    GivenUp(Vec<u8>),
}

impl Joined {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &[u8]) -> Join {
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
        // A string does not go on in the next line.
        if self.quoted || self.text.len() > MAX_JOINED_BYTES {
            return Join::GivenUp(self.take());
        }
        if self.depth == 0 { Join::Whole(self.take()) } else { Join::Begun }
    }

    /// The lines so far, which stay unfinished.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_when_its_last_bracket_closes() {
        let mut joined = Joined::default();
        assert_eq!(joined.push(b"{"), Join::Begun);
        assert_eq!(joined.push(br#"  "a": ["}", "\"]","#), Join::Begun);
        assert_eq!(joined.push(b"  1]"), Join::Begun);
        let whole = b"{\n  \"a\": [\"}\", \"\\\"]\",\n  1]\n}".to_vec();
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&whole).is_ok());
        assert_eq!(joined.push(b"}"), Join::Whole(whole));
        assert!(joined.is_empty());
    }

    #[test]
    fn what_is_too_long_or_breaks_a_string_is_given_up() {
        let mut joined = Joined::default();
        assert_eq!(joined.push(b"{\"a"), Join::GivenUp(b"{\"a".to_vec()));
        assert_eq!(joined.push(b"["), Join::Begun);
        assert!(matches!(joined.push(&vec![b'1'; MAX_JOINED_BYTES]), Join::GivenUp(_)));
        assert!(joined.is_empty());
    }
}
