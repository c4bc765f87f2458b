//! Positions of the fields and entries of a valid package.

use super::findings::LinePositions;
use super::scan::{Malformed, Scanner};

#[derive(Debug, Default)]
pub(crate) struct EntryPositions {
    fields: Vec<(String, (usize, usize))>,
    entries: Vec<(usize, usize)>,
}

impl EntryPositions {
    /// Finds the positions in a valid document.
    pub(crate) fn find(document: &[u8]) -> Self {
        let mut found = EntryPositions::default();
        let text = std::str::from_utf8(document).unwrap_or_default();
        // A valid document cannot fail; of another one, the positions so far are kept.
        let _ = found.read(text);
        found
    }

    fn read(&mut self, text: &str) -> Result<(), Malformed> {
        let mut scan = Scanner::new(text);
        let mut places = LinePositions::new(text);
        scan.skip_space();
        scan.expect(b'{', "`{`")?;
        let mut first = true;
        while let Some(key) = scan.next_key(first)? {
            first = false;
            let name = key.decode().into_owned();
            let is_metrics = name == "metrics";
            self.fields.push((name, places.advance(scan.at)));
            if !is_metrics {
                scan.skip_value()?;
                continue;
            }
            scan.expect(b'[', "`[`")?;
            while scan.next_item(self.entries.is_empty())? {
                self.entries.push(places.advance(scan.at));
                scan.skip_value()?;
            }
        }
        Ok(())
    }

    pub(crate) fn field(&self, key: &str) -> (usize, usize) {
        let found = self.fields.iter().find(|(name, _)| name == key);
        found.map_or((1, 1), |(_, place)| *place)
    }

    pub(crate) fn entry(&self, index: usize) -> (usize, usize) {
        self.entries.get(index).copied().unwrap_or((1, 1))
    }
}
