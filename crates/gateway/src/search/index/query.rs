//! From words to files that have them.

use std::time::Duration;

use tantivy::collector::TopDocs;
use tantivy::query::{
    BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::snippet::SnippetGenerator;
use tantivy::{DateTime, Order, TantivyDocument, Term};
use wire::search::Recency;

use super::words::{Singles, analyzer};
use super::{Error, Opened};
use crate::clock;
use crate::search::plain::{self, MAX_SNIPPET, MAX_TITLE};
use crate::search::wanted::Wanted;

/// The most words of a query that are looked for.
const MAX_WORDS: usize = 64;
/// How much more a word in a title weighs.
const TITLE_WEIGHT: f32 = 3.0;
/// The longest snippet of a file, in characters.
const SNIPPET_CHARS: usize = 300;

/// A file that was found.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) path: String,
    pub(super) title: String,
    pub(super) snippet: String,
    pub(super) changed: Option<String>,
    pub(super) score: f64,
}

/// The best files: those with all words, or those with any where none has all.
pub(super) fn search(opened: &Opened, wanted: &Wanted) -> Result<Vec<Match>, Error> {
    let words = words(&wanted.query);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    for occur in [Occur::Must, Occur::Should] {
        let found = matches(opened, wanted, &words, occur)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut analyzer = analyzer(Singles::WhereAlone);
    analyzer.token_stream(query).process(&mut |token| {
        if !words.contains(&token.text) && words.len() < MAX_WORDS {
            words.push(token.text.clone());
        }
    });
    words
}

fn matches(
    opened: &Opened,
    wanted: &Wanted,
    words: &[String],
    occur: Occur,
) -> Result<Vec<Match>, Error> {
    let searcher = opened.reader.searcher();
    let fields = opened.fields;
    let of_words = words.iter().map(|word| (occur, anywhere(opened, word)));
    let of_words: Box<dyn Query> = Box::new(BooleanQuery::new(of_words.collect()));
    let query = match wanted.recency {
        None => of_words,
        Some(recency) => {
            let since = Term::from_field_date(fields.changed, since(recency));
            let young =
                RangeQuery::new(std::ops::Bound::Included(since), std::ops::Bound::Unbounded);
            Box::new(BooleanQuery::new(vec![
                (Occur::Must, of_words),
                (Occur::Must, Box::new(BoostQuery::new(Box::new(young), 0.0))),
            ]))
        }
    };
    let best = TopDocs::with_limit(wanted.max_results).order_by_score();
    let best = searcher.search(&query, &best)?;
    let mut snippets = SnippetGenerator::create(&searcher, &*query, fields.text)?;
    snippets.set_max_num_chars(SNIPPET_CHARS);
    let mut found = Vec::with_capacity(best.len());
    for (score, address) in best {
        let document: TantivyDocument = searcher.doc(address)?;
        let text = |field| first(&document, field);
        let body = text(fields.text);
        let around = snippets.snippet(body);
        let around = match around.fragment() {
            "" => plain::cut(body, SNIPPET_CHARS),
            around => around,
        };
        let changed = document.get_first(fields.changed).and_then(|value| value.as_datetime());
        found.push(Match {
            path: text(fields.path).to_owned(),
            title: plain::one_line(text(fields.title), MAX_TITLE),
            snippet: plain::one_line(around, MAX_SNIPPET),
            changed: changed.map(rfc3339),
            score: f64::from(score),
        });
    }
    Ok(found)
}

/// A word in the title, in the path or in the text; where it weighs most is what counts.
fn anywhere(opened: &Opened, word: &str) -> Box<dyn Query> {
    let fields = opened.fields;
    let in_field = |field| -> Box<dyn Query> {
        let term = Term::from_field_text(field, word);
        Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
    };
    let in_title = Box::new(BoostQuery::new(in_field(fields.title), TITLE_WEIGHT));
    Box::new(DisjunctionMaxQuery::new(vec![in_title, in_field(fields.name), in_field(fields.text)]))
}

/// The text of a document, by its path.
pub(super) fn text_of(opened: &Opened, path: &str) -> Result<Option<(String, String)>, Error> {
    let searcher = opened.reader.searcher();
    let query = TermQuery::new(opened.fields.key(path), IndexRecordOption::Basic);
    let newest = TopDocs::with_limit(1).order_by_fast_field::<i64>("nanos", Order::Desc);
    let Some((_, address)) = searcher.search(&query, &newest)?.into_iter().next() else {
        return Ok(None);
    };
    let document: TantivyDocument = searcher.doc(address)?;
    let title = plain::one_line(first(&document, opened.fields.title), MAX_TITLE);
    let text = first(&document, opened.fields.text).to_owned();
    Ok((!text.is_empty()).then_some((title, text)))
}

fn first(document: &TantivyDocument, field: Field) -> &str {
    document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default()
}

fn since(recency: Recency) -> DateTime {
    let days = match recency {
        Recency::Day => 1,
        Recency::Week => 7,
        Recency::Month => 31,
        Recency::Year => 366,
    };
    let age = Duration::from_hours(24 * days);
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(clock::now().millis().saturating_sub(age))
}

fn rfc3339(at: DateTime) -> String {
    clock::rfc3339(ledger::Time::from_micros(at.into_timestamp_micros()))
}
