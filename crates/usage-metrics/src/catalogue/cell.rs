//! The dense index: every counter of a closed kind has a number.
//!
//! The counters of a kind are numbered in mixed radix over its dimensions, and the kinds follow one
//! another, so that all numbers fit into a `u32`. Numbers exist in memory only; the store writes
//! names, so that the table may change.

use super::{Domain, KINDS, Kind};

pub trait Event {
    const KIND: Kind;

    fn index(&self) -> u32;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u32);

/// The first number of each kind; the last entry is the total.
pub(super) static OFFSETS: [u32; KINDS.len() + 1] = offsets();

const fn offsets() -> [u32; KINDS.len() + 1] {
    let mut offsets = [0; KINDS.len() + 1];
    let mut kind = 0;
    while kind < KINDS.len() {
        let dimensions = KINDS[kind].dimensions;
        let mut product = 1;
        let mut at = 0;
        while at < dimensions.len() {
            product *= match dimensions[at].domain {
                Domain::Listed(values) => radix(values),
                Domain::Identifier { .. } => 0,
            };
            at += 1;
        }
        offsets[kind + 1] = offsets[kind] + product;
        kind += 1;
    }
    offsets
}

/// The number of values of a set, as a factor of the index.
#[expect(clippy::cast_possible_truncation, reason = "value sets are tiny")]
pub(super) const fn radix(texts: &[&str]) -> u32 {
    texts.len() as u32
}

impl Cell {
    pub const COUNT: u32 = offsets()[KINDS.len()];

    #[inline]
    pub fn of<E: Event>(event: &E) -> Cell {
        Cell(OFFSETS[E::KIND as usize] + event.index())
    }

    pub fn from_number(number: u32) -> Option<Cell> {
        (number < Self::COUNT).then_some(Cell(number))
    }

    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    pub fn kind(self) -> Kind {
        // The open kind has no cells, so its empty range is never the last that starts at or below
        // the number.
        let at = OFFSETS.partition_point(|offset| *offset <= self.0) - 1;
        Kind::ALL[at]
    }

    /// The dimension texts, in the order of the kind's dimensions.
    pub fn values(self) -> Vec<&'static str> {
        let kind = self.kind();
        let mut rest = self.0 - OFFSETS[kind as usize];
        let mut values = Vec::with_capacity(kind.spec().dimensions.len());
        for dimension in kind.spec().dimensions.iter().rev() {
            if let Domain::Listed(texts) = dimension.domain {
                values.push(texts[(rest % radix(texts)) as usize]);
                rest /= radix(texts);
            }
        }
        values.reverse();
        values
    }

    /// The cell of a kind with these dimension texts, in the order of the kind's dimensions.
    pub fn find<'a>(kind: Kind, values: impl IntoIterator<Item = &'a str>) -> Option<Cell> {
        let mut values = values.into_iter();
        let mut index = 0;
        for dimension in kind.spec().dimensions {
            let Domain::Listed(texts) = dimension.domain else { return None };
            let value = values.next()?;
            let at = texts.iter().position(|text| *text == value)?;
            index = index * radix(texts) + u32::try_from(at).ok()?;
        }
        values.next().is_none().then(|| Cell(OFFSETS[kind as usize] + index))
    }
}
