//! Ranks documents for a query.

use std::cmp::Ordering;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::Result;
use crate::database::postings;
use crate::words::{Singles, words};

const MAX_WORDS: usize = u64::BITS as usize;
/// Maximum length of a snippet, and its part before the first matching word.
const SNIPPET_CHARS: usize = 300;
const SNIPPET_LEAD_BYTES: usize = 80;
/// Part of a document that is searched for a snippet.
const SNIPPET_SEARCH_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub text: String,
    pub max_results: usize,
    /// Only documents modified since then, in nanoseconds since 1970.
    pub modified_since_ns: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Its path below the folder, with `/`.
    pub path: String,
    pub title: String,
    /// Excerpt around the matching words.
    pub snippet: String,
    /// Modification time, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Relevance; higher is better.
    pub score: f64,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: i64,
    score: f32,
    /// Number of matching words; at most [`MAX_WORDS`].
    words: u8,
}

/// A query word and its inverse document frequency.
#[derive(Debug)]
struct Term {
    word: String,
    rarity: f32,
}

/// The best documents with all words; if there are none, those with any.
pub(crate) fn search(connection: &Connection, query: &Query) -> Result<Vec<Match>> {
    // All statements read one snapshot.
    let transaction = connection.unchecked_transaction()?;
    let mut terms: Vec<Term> = Vec::new();
    for (word, _) in words(&query.text, Singles::WhereAlone) {
        if terms.len() < MAX_WORDS && terms.iter().all(|term| term.word != word) {
            terms.push(Term { word, rarity: 0.0 });
        }
    }
    let mut candidates = candidates(&transaction, &mut terms)?;
    if let Some(since) = query.modified_since_ns {
        let sql = "SELECT id FROM document WHERE modified_ns >= ? ORDER BY id";
        let mut statement = transaction.prepare_cached(sql)?;
        let ids = statement.query_map([since], |row| row.get(0))?;
        let ids = ids.collect::<Result<Vec<i64>, _>>()?;
        candidates.retain(|candidate| ids.binary_search(&candidate.id).is_ok());
    }
    let has_all = |candidate: &Candidate| usize::from(candidate.words) == terms.len();
    if candidates.iter().any(has_all) {
        candidates.retain(has_all);
    }
    let best = |left: &Candidate, right: &Candidate| {
        right.score.total_cmp(&left.score).then(left.id.cmp(&right.id))
    };
    if candidates.len() > query.max_results {
        candidates.select_nth_unstable_by(query.max_results, best);
        candidates.truncate(query.max_results);
    }
    candidates.sort_unstable_by(best);
    let found = candidates.iter().map(|candidate| found(&transaction, &terms, candidate));
    found.collect()
}

/// All documents with any of the words.
fn candidates(connection: &Connection, terms: &mut [Term]) -> Result<Vec<Candidate>> {
    let sql = "SELECT coalesce(max(id), 0) FROM document";
    let last_id: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    // Indexed by id: ids have few gaps, and a frequent word is in most documents.
    let length = usize::try_from(last_id).unwrap_or_default() + 1;
    let (mut scores, mut counts) = (vec![0.0; length], vec![0_u8; length]);
    for term in terms {
        let postings = postings(connection, &term.word)?;
        term.rarity = rarity(last_id, postings.len());
        for (id, weight) in postings {
            let index = usize::try_from(id).unwrap_or(usize::MAX);
            if let (Some(score), Some(count)) = (scores.get_mut(index), counts.get_mut(index)) {
                *score += weight * term.rarity;
                *count += 1;
            }
        }
    }
    let candidates = (0..).zip(scores).zip(counts).filter(|(_, count)| *count > 0);
    let candidates = candidates.map(|((id, score), words)| Candidate { id, score, words });
    Ok(candidates.collect())
}

/// The inverse document frequency of BM25.
#[expect(clippy::cast_precision_loss, reason = "a rough number is enough")]
fn rarity(documents: i64, having: usize) -> f32 {
    let (documents, having) = (documents as f32, having as f32);
    (1.0 + ((documents - having).max(0.0) + 0.5) / (having + 0.5)).ln()
}

fn found(connection: &Connection, terms: &[Term], candidate: &Candidate) -> Result<Match> {
    let sql = "SELECT path, title, text, modified_ns FROM document JOIN content USING (id)
        WHERE id = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([candidate.id], |row| {
        let text = row.get_ref(2)?.as_str()?;
        Ok(Match {
            path: row.get(0)?,
            title: row.get(1)?,
            snippet: snippet(text, terms).to_owned(),
            modified_ns: row.get(3)?,
            score: candidate.score.into(),
        })
    })?;
    Ok(found)
}

/// The most relevant part of a text.
fn snippet<'a>(text: &'a str, terms: &[Term]) -> &'a str {
    let searched = &text[..text.floor_char_boundary(SNIPPET_SEARCH_BYTES)];
    let places: Vec<(usize, usize)> = words(searched, Singles::Always)
        .filter_map(|(word, range)| {
            Some((range.start, terms.iter().position(|term| term.word == word)?))
        })
        .collect();
    let worth = |index: usize| {
        let (start, _) = places[index];
        let (mut seen, mut sum) = (0_u64, 0.0);
        let near = places[index..].iter().take_while(|(place, _)| place - start < SNIPPET_CHARS);
        for (_, term) in near {
            if seen & 1 << term == 0 {
                seen |= 1 << term;
                sum += terms[*term].rarity;
            }
        }
        sum
    };
    let best = (0..places.len()).map(|index| (worth(index), places[index].0));
    let best =
        best.reduce(
            |best, next| {
                if next.0.total_cmp(&best.0) == Ordering::Greater { next } else { best }
            },
        );
    let lead = best.map_or(0, |(_, start)| start.saturating_sub(SNIPPET_LEAD_BYTES));
    let mut start = text.ceil_char_boundary(lead);
    if start > 0 {
        let before = best.map_or(start, |(_, found)| found);
        start += text[start..before].find(char::is_whitespace).unwrap_or(0);
    }
    let part = &text[start..];
    part.char_indices().nth(SNIPPET_CHARS).map_or(part, |(end, _)| &part[..end])
}

pub(crate) fn text_of(connection: &Connection, path: &str) -> Result<Option<(String, String)>> {
    let sql = "SELECT title, text FROM document JOIN content USING (id) WHERE path = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let text = statement.query_row(params![path], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(text.optional()?)
}
