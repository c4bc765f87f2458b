//! Joining of messages that span several lines.
//!
//! Some servers pretty-print their JSON. Each byte is examined once: nesting and quotes determine
//! the end.

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
mod tests;
