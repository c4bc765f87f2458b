//! Short texts as machine words, and perfect-hash sets of them.
//!
//! Every name, key and listed value of the catalogue has at most 31 bytes of ASCII. Loaded as four
//! words with its closing quote, so that padding cannot be mistaken for text, it is compared in a
//! few instructions, and a set is searched with one multiplication.

use std::sync::LazyLock;

use crate::catalogue::{Domain, KINDS, Kind, NAMES};

/// The fields of a metric entry, sorted.
pub(super) const ENTRY_KEYS: &[&str] = &["dimensions", "name", "type", "value"];

/// Maximum length of a text with its closing quote, in bytes.
const ATOM_BYTES: usize = 32;

const SLOTS: usize = 64;
const VACANT: u8 = u8::MAX;

/// A text of at most 31 bytes, its closing quote, and zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShortText([u64; 4]);

impl ShortText {
    pub(super) fn new(text: &str) -> Option<ShortText> {
        let mut bytes = [0; ATOM_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        *bytes.get_mut(text.len())? = b'"';
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Some(ShortText(words))
    }

    /// Reads the text up to the next quote, within `WORDS` words; returns it with its length.
    ///
    /// There is no branch on the length, which the processor could not predict.
    #[inline]
    pub(super) fn read<const WORDS: usize>(bytes: &[u8], at: usize) -> Option<(ShortText, usize)> {
        let window: &[u8; ATOM_BYTES] = bytes.get(at..)?.first_chunk()?;
        let (chunks, _) = window.as_chunks::<8>();
        let mut words = [0; 4];
        let mut length = 0;
        // All ones until the quote is found, then zero.
        let mut open = u64::MAX;
        for (word, chunk) in words.iter_mut().zip(chunks).take(WORDS) {
            let found = u64::from_le_bytes(*chunk);
            let quotes = quotes(found);
            // A mask of the bytes up to and including the first quote; all ones without a quote.
            let kept = (quotes ^ quotes.wrapping_sub(1)) & open;
            *word = found & kept;
            length += (u64::BITS - kept.leading_zeros()) as usize / 8;
            open &= u64::from(quotes == 0).wrapping_neg();
        }
        (open == 0).then(|| (ShortText(words), length - 1))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "six bits are left")]
    fn hash(&self, seed: u64) -> usize {
        let [a, b, c, d] = self.0;
        let mixed =
            (a ^ b.rotate_left(21) ^ c.rotate_left(42) ^ d.rotate_left(11)).wrapping_mul(seed);
        // The top six bits select a slot.
        usize::from((mixed >> (u64::BITS - SLOTS.trailing_zeros())) as u8)
    }
}

/// A text that is expected at a position, with its closing quote.
#[derive(Debug)]
pub(super) struct ExpectedText {
    words: [u64; 4],
    /// A mask of the bytes of the text.
    masks: [u64; 4],
    length: usize,
}

impl ExpectedText {
    fn new(text: &str) -> Option<ExpectedText> {
        let ShortText(words) = ShortText::new(text)?;
        let length = text.len() + 1;
        let masks = std::array::from_fn(|index| match length.saturating_sub(index * 8) {
            0 => 0,
            bytes @ 1..8 => u64::MAX >> (u64::BITS as usize - bytes * 8),
            8.. => u64::MAX,
        });
        Some(ExpectedText { words, masks, length })
    }

    /// The position after the text, if it is at `at`.
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

/// Marks the bytes that are quotes; the lowest mark is exact.
#[inline]
fn quotes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    let differences = word ^ u64::from_le_bytes([b'"'; 8]);
    differences.wrapping_sub(ONES) & !differences & HIGHS
}

/// A set without collisions.
#[derive(Debug)]
pub(super) struct ShortTextSet {
    seed: u64,
    slots: [u8; SLOTS],
    atoms: Vec<ShortText>,
}

impl ShortTextSet {
    fn new(texts: &[&str]) -> ShortTextSet {
        let atoms: Vec<ShortText> = texts.iter().filter_map(|text| ShortText::new(text)).collect();
        debug_assert_eq!(atoms.len(), texts.len(), "every text of the catalogue fits an atom");
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        loop {
            if let Some(slots) = place(&atoms, seed) {
                return ShortTextSet { seed, slots, atoms };
            }
            // Tries odd multipliers until there is no collision.
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f) | 1;
        }
    }

    #[inline]
    pub(super) fn find(&self, atom: &ShortText) -> Option<usize> {
        let index = usize::from(self.slots[atom.hash(self.seed)]);
        (self.atoms.get(index)? == atom).then_some(index)
    }
}

fn place(atoms: &[ShortText], seed: u64) -> Option<[u8; SLOTS]> {
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

#[derive(Debug)]
pub(super) enum DomainTexts {
    Listed(ShortTextSet),
    Identifier { max_chars: usize },
}

#[derive(Debug)]
pub(super) struct KindTexts {
    pub(super) kind: Kind,
    pub(super) dimensions: Vec<(ExpectedText, DomainTexts)>,
}

/// The catalogue, for the fast path.
#[derive(Debug)]
pub(super) struct CatalogueTexts {
    pub(super) names: ShortTextSet,
    pub(super) keys: ShortTextSet,
    pub(super) kinds: Vec<KindTexts>,
}

pub(super) static CATALOGUE_TEXTS: LazyLock<CatalogueTexts> = LazyLock::new(|| CatalogueTexts {
    names: ShortTextSet::new(NAMES),
    keys: ShortTextSet::new(ENTRY_KEYS),
    kinds: KINDS
        .iter()
        .map(|spec| KindTexts {
            kind: spec.kind,
            dimensions: spec
                .dimensions
                .iter()
                .filter_map(|dimension| {
                    let domain = match dimension.domain {
                        Domain::Listed(texts) => DomainTexts::Listed(ShortTextSet::new(texts)),
                        Domain::Identifier { max_chars } => DomainTexts::Identifier { max_chars },
                    };
                    Some((ExpectedText::new(dimension.key)?, domain))
                })
                .collect(),
        })
        .collect(),
});
