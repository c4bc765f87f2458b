//! Decodes the text of an answer incrementally: whole characters, without stop sequences.

#[derive(Debug)]
pub(crate) struct Text {
    stops: Vec<String>,
    /// Bytes of an incomplete character.
    broken: Vec<u8>,
    /// Text that may be the start of a stop sequence.
    held: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Grown {
    /// The answer continues; this text is final.
    On(String),
    /// A stop sequence follows this text.
    Stopped(String),
}

impl Text {
    pub(crate) fn new(stops: &[String]) -> Self {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        Self { stops, broken: Vec::new(), held: String::new() }
    }

    pub(crate) fn grow(&mut self, bytes: &[u8]) -> Grown {
        self.broken.extend_from_slice(bytes);
        let whole = match str::from_utf8(&self.broken) {
            Ok(text) => text.len(),
            // Incomplete bytes are held back; invalid ones are not.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.broken.len(),
        };
        let rest = self.broken.split_off(whole);
        self.held.push_str(&String::from_utf8_lossy(&self.broken));
        self.broken = rest;
        let stop = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str())).min();
        if let Some(stop) = stop {
            self.held.truncate(stop);
            return Grown::Stopped(std::mem::take(&mut self.held));
        }
        let certain = self.held.len() - self.unsure();
        let rest = self.held.split_off(certain);
        Grown::On(std::mem::replace(&mut self.held, rest))
    }

    /// The remaining text at the end.
    pub(crate) fn end(mut self) -> String {
        self.held.push_str(&String::from_utf8_lossy(&self.broken));
        self.held
    }

    /// Length of the end that may be the start of a stop sequence.
    fn unsure(&self) -> usize {
        let overlap = |stop: &String| {
            let ends = (1..stop.len()).rev().filter(|end| stop.is_char_boundary(*end));
            ends.into_iter().find(|end| self.held.ends_with(&stop[..*end])).unwrap_or(0)
        };
        self.stops.iter().map(overlap).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
