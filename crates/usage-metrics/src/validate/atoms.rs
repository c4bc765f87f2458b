//! Known short texts as machine words, and perfect-hash sets of them.
//!
//! Every name, key and listed value of the catalogue is at most 31 bytes of plain ASCII. Loaded as
//! four words together with its closing quote, so that no padding is mistaken for text, one is
//! compared in a few instructions and a set of them is looked up with one multiplication.

use std::sync::LazyLock;

use crate::catalogue::{Domain, KINDS, Kind, NAMES};

/// The fields of a metric entry, sorted.
pub(super) const ENTRY_KEYS: &[&str] = &["dimensions", "name", "type", "value"];

/// Longest atom with its closing quote, in bytes.
const ATOM_BYTES: usize = 32;

const SLOTS: usize = 64;
const VACANT: u8 = u8::MAX;

/// A text of at most 31 bytes, its closing quote, and zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Atom([u64; 4]);

impl Atom {
    /// The text as an atom; nothing if it is too long for one.
    pub(super) fn new(text: &str) -> Option<Atom> {
        let mut bytes = [0; ATOM_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        *bytes.get_mut(text.len())? = b'"';
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Some(Atom(words))
    }

    /// Reads the atom that ends at the next quote, within `WORDS` words; tells how long it is.
    ///
    /// There is no branch on the length: in a package of many kinds it could not be foreseen.
    #[inline]
    pub(super) fn read<const WORDS: usize>(bytes: &[u8], at: usize) -> Option<(Atom, usize)> {
        let window: &[u8; ATOM_BYTES] = bytes.get(at..)?.first_chunk()?;
        let (chunks, _) = window.as_chunks::<8>();
        let mut words = [0; 4];
        let mut length = 0;
        // All ones until the quote was seen, then zero.
        let mut open = u64::MAX;
        for (word, chunk) in words.iter_mut().zip(chunks).take(WORDS) {
            let found = u64::from_le_bytes(*chunk);
            let quotes = quotes(found);
            // Everything up to the first quote's byte and that byte; all ones without a quote.
            let kept = (quotes ^ quotes.wrapping_sub(1)) & open;
            *word = found & kept;
            length += (u64::BITS - kept.leading_zeros()) as usize / 8;
            open &= u64::from(quotes == 0).wrapping_neg();
        }
        (open == 0).then(|| (Atom(words), length - 1))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "six bits are left")]
    fn hash(&self, seed: u64) -> usize {
        let [a, b, c, d] = self.0;
        let mixed =
            (a ^ b.rotate_left(21) ^ c.rotate_left(42) ^ d.rotate_left(11)).wrapping_mul(seed);
        // The top six bits choose one of the slots.
        usize::from((mixed >> (u64::BITS - SLOTS.trailing_zeros())) as u8)
    }
}

/// An atom that is expected at a place, with its closing quote.
#[derive(Debug)]
pub(super) struct Expected {
    words: [u64; 4],
    /// Ones where the atom has bytes.
    masks: [u64; 4],
    length: usize,
}

impl Expected {
    /// The text as it is expected; nothing if it is too long for an atom.
    fn new(text: &str) -> Option<Expected> {
        let Atom(words) = Atom::new(text)?;
        let length = text.len() + 1;
        let masks = std::array::from_fn(|index| match length.saturating_sub(index * 8) {
            0 => 0,
            bytes @ 1..8 => u64::MAX >> (u64::BITS as usize - bytes * 8),
            8.. => u64::MAX,
        });
        Some(Expected { words, masks, length })
    }

    /// Where the input goes on behind the atom, if it stands at `at`.
    #[inline]
    pub(super) fn skip(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let window: &[u8; ATOM_BYTES] = bytes.get(at..)?.first_chunk()?;
        let (chunks, _) = window.as_chunks::<8>();
        let mut differs = 0;
        for ((chunk, word), mask) in chunks.iter().zip(self.words).zip(self.masks) {
            differs |= (u64::from_le_bytes(*chunk) ^ word) & mask;
        }
        (differs == 0).then_some(at + self.length)
    }
}

/// The bytes of the word that are quotes: the lowest marker bit is exact.
#[inline]
fn quotes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    let differences = word ^ u64::from_le_bytes([b'"'; 8]);
    differences.wrapping_sub(ONES) & !differences & HIGHS
}

/// A set of atoms without collisions.
#[derive(Debug)]
pub(super) struct AtomSet {
    seed: u64,
    slots: [u8; SLOTS],
    atoms: Vec<Atom>,
}

impl AtomSet {
    fn new(texts: &[&str]) -> AtomSet {
        let atoms: Vec<Atom> = texts.iter().filter_map(|text| Atom::new(text)).collect();
        debug_assert_eq!(atoms.len(), texts.len(), "every text of the catalogue fits an atom");
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        loop {
            if let Some(slots) = place(&atoms, seed) {
                return AtomSet { seed, slots, atoms };
            }
            // Another odd multiplier; a collision-free one is found after a few.
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f) | 1;
        }
    }

    /// The position of the atom in the list the set was made from.
    #[inline]
    pub(super) fn find(&self, atom: &Atom) -> Option<usize> {
        let index = usize::from(self.slots[atom.hash(self.seed)]);
        (self.atoms.get(index)? == atom).then_some(index)
    }
}

fn place(atoms: &[Atom], seed: u64) -> Option<[u8; SLOTS]> {
    let mut slots = [VACANT; SLOTS];
    for (index, atom) in atoms.iter().enumerate() {
        let slot = &mut slots[atom.hash(seed)];
        if *slot != VACANT {
            return None;
        }
        *slot = u8::try_from(index).ok()?;
    }
    Some(slots)
}

/// What a dimension takes, ready for the fast path.
#[derive(Debug)]
pub(super) enum DomainAtoms {
    Listed(AtomSet),
    Identifier { max_chars: usize },
}

/// One kind, ready for the fast path.
#[derive(Debug)]
pub(super) struct KindAtoms {
    pub(super) kind: Kind,
    pub(super) dimensions: Vec<(Expected, DomainAtoms)>,
}

/// The catalogue, ready for the fast path.
#[derive(Debug)]
pub(super) struct Atoms {
    pub(super) names: AtomSet,
    pub(super) keys: AtomSet,
    pub(super) kinds: Vec<KindAtoms>,
}

/// Made once, on first use.
pub(super) static ATOMS: LazyLock<Atoms> = LazyLock::new(|| Atoms {
    names: AtomSet::new(NAMES),
    keys: AtomSet::new(ENTRY_KEYS),
    kinds: KINDS
        .iter()
        .map(|spec| KindAtoms {
            kind: spec.kind,
            dimensions: spec
                .dimensions
                .iter()
                .filter_map(|dimension| {
                    let domain = match dimension.domain {
                        Domain::Listed(texts) => DomainAtoms::Listed(AtomSet::new(texts)),
                        Domain::Identifier { max_chars } => DomainAtoms::Identifier { max_chars },
                    };
                    Some((Expected::new(dimension.key)?, domain))
                })
                .collect(),
        })
        .collect(),
});
