//! Known short texts as machine words, and perfect-hash sets of them.
//!
//! Every name, key and listed value of the catalogue is at most 31 bytes of plain ASCII. Loaded as
//! four words together with its closing quote, so that no padding is mistaken for text, one is
//! compared in a few instructions and a set of them is looked up with one multiplication.

use std::sync::LazyLock;

use crate::catalogue::{Domain, KINDS, Kind, NAMES};

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
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        *bytes.get_mut(text.len())? = b'"';
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Some(Atom(words))
    }

    /// Reads the atom that ends at the next quote; tells how long it is.
    #[inline]
    pub(super) fn read(bytes: &[u8], at: usize) -> Option<(Atom, usize)> {
        let window: &[u8; ATOM_BYTES] = bytes.get(at..)?.first_chunk()?;
        let (chunks, _) = window.as_chunks::<8>();
        let mut words = [0; 4];
        for (index, chunk) in chunks.iter().enumerate() {
            let word = u64::from_le_bytes(*chunk);
            let quotes = quotes(word);
            if quotes != 0 {
                // The marker is the highest bit of the quote's byte: that byte and all below stay.
                let marker = quotes.trailing_zeros();
                words[index] = word & (u64::MAX >> (u64::BITS - 1 - marker));
                return Some((Atom(words), index * 8 + marker as usize / 8));
            }
            words[index] = word;
        }
        None
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
        debug_assert_eq!(
            atoms.len(),
            texts.len(),
            "every text of the catalogue fits an atom"
        );
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        loop {
            if let Some(slots) = place(&atoms, seed) {
                return AtomSet { seed, slots, atoms };
            }
            // Another odd multiplier; a collision-free one is found after a few.
            seed = seed
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f)
                | 1;
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
    pub(super) dimensions: Vec<(Atom, DomainAtoms)>,
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
    keys: AtomSet::new(super::judge::ENTRY_KEYS),
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
                    Some((Atom::new(dimension.key)?, domain))
                })
                .collect(),
        })
        .collect(),
});
