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

impl LineJoiner {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a line. Returns the text if it is complete, too long, or no message.
    pub(super) fn push(&mut self, line: &[u8]) -> Option<Vec<u8>> {
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
        let ends = self.depth == 0 || self.quoted || self.text.len() > MAX_JOINED_BYTES;
        ends.then(|| self.take())
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).text
    }
}

#[cfg(test)]
mod tests;
