//! Byte-level BPE: tokenizes texts by merging neighbours, by rank of the pair.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use aho_corasick::{AhoCorasick, MatchKind};

use crate::pre_tokenizer::PreTokenizer;

#[derive(Debug)]
pub(crate) struct Bpe {
    splitter: PreTokenizer,
    /// The token of each byte. A byte without one is skipped.
    bytes: [Option<u32>; 256],
    /// Rank of a pair, and its merged token.
    merges: HashMap<(u32, u32), (u32, u32)>,
    /// Special tokens, matched by name in a text.
    special: AhoCorasick,
    special_ids: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Vocabulary<'a> {
    pub(crate) tokens: &'a [String],
    /// Token pairs separated by a space, by rank.
    pub(crate) merges: &'a [String],
    /// Special tokens, matched by name in a text.
    pub(crate) special: Vec<u32>,
}

/// A token in a word, linked to its neighbours.
#[derive(Debug, Clone, Copy)]
struct Link {
    token: u32,
    before: Option<usize>,
    after: Option<usize>,
    /// Whether it was merged into its predecessor.
    is_merged: bool,
}

impl Bpe {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>, splitter: PreTokenizer) -> Result<Self, String> {
        let mut ids = HashMap::new();
        for (id, token) in (0..).zip(vocabulary.tokens) {
            ids.insert(token.as_str(), id);
        }
        let id_of = |text: &str| ids.get(text).copied().ok_or("a merge refers to an unknown token");
        let mut merges = HashMap::with_capacity(vocabulary.merges.len());
        for (rank, pair) in (0..).zip(vocabulary.merges) {
            let (left, right) = pair.split_once(' ').ok_or("a merge is not a pair")?;
            let joined = id_of(&format!("{left}{right}"))?;
            merges.insert((id_of(left)?, id_of(right)?), (rank, joined));
        }
        let mut bytes = [None; 256];
        for (letter, byte) in bytes_of_letters() {
            if let Some(id) = ids.get(letter.encode_utf8(&mut [0; 4]) as &str) {
                bytes[usize::from(byte)] = Some(*id);
            }
        }
        let special = vocabulary.special.iter().filter_map(|id| {
            let name = vocabulary.tokens.get(*id as usize).filter(|name| !name.is_empty())?;
            Some((name.as_str(), *ids.get(name.as_str())?))
        });
        let (names, special_ids): (Vec<&str>, Vec<u32>) = special.unzip();
        let special = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(names)
            .map_err(|error| error.to_string())?;
        Ok(Self { splitter, bytes, merges, special, special_ids })
    }

    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut at = 0;
        for found in self.special.find_iter(text) {
            self.encode_plain(&text[at..found.start()], &mut tokens);
            tokens.push(self.special_ids[found.pattern().as_usize()]);
            at = found.end();
        }
        self.encode_plain(&text[at..], &mut tokens);
        tokens
    }

    fn encode_plain(&self, text: &str, tokens: &mut Vec<u32>) {
        for word in self.splitter.words(text) {
            let bytes = word.bytes().filter_map(|byte| self.bytes[usize::from(byte)]);
            self.merge(bytes, tokens);
        }
    }

    /// Merges the tokens of a word until no pair is left. A priority queue finds the next one, so
    /// that long words take nearly linear time.
    fn merge(&self, word: impl Iterator<Item = u32>, out: &mut Vec<u32>) {
        let mut links: Vec<Link> = word
            .enumerate()
            .map(|(index, token)| Link {
                token,
                before: index.checked_sub(1),
                after: Some(index + 1),
                is_merged: false,
            })
            .collect();
        if let Some(last) = links.last_mut() {
            last.after = None;
        }
        let mut queue = BinaryHeap::new();
        for left in 0..links.len() {
            queue.extend(self.pair(&links, left));
        }
        while let Some(Reverse((_, left, merged))) = queue.pop() {
            // A queued pair may be outdated.
            let still = self.pair(&links, left).is_some_and(|Reverse(pair)| pair.2 == merged);
            let Some(right) = links[left].after.filter(|_| still) else { continue };
            let after = links[right].after;
            links[right].is_merged = true;
            links[left].token = merged;
            links[left].after = after;
            if let Some(after) = after {
                links[after].before = Some(left);
            }
            let before = links[left].before;
            queue.extend(before.and_then(|before| self.pair(&links, before)));
            queue.extend(self.pair(&links, left));
        }
        out.extend(links.iter().filter(|link| !link.is_merged).map(|link| link.token));
    }

    fn pair(&self, links: &[Link], left: usize) -> Option<Reverse<(u32, usize, u32)>> {
        let link = links[left];
        let right = link.after.filter(|_| !link.is_merged)?;
        let (rank, merged) = self.merges.get(&(link.token, links[right].token))?;
        Some(Reverse((*rank, left, *merged)))
    }
}

/// Which letter of a token's text represents each byte: printable bytes represent
/// themselves, the others for letters from 256 on.
pub(crate) fn bytes_of_letters() -> impl Iterator<Item = (char, u8)> {
    let mut next = 256;
    (0..=u8::MAX).filter_map(move |byte| {
        let letter = match byte {
            b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => u32::from(byte),
            _ => {
                next += 1;
                next - 1
            }
        };
        Some((char::from_u32(letter)?, byte))
    })
}
