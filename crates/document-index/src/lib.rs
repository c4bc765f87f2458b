//! A search index over a folder of documents.
//!
//! An [`Index`] reads the text, Markdown, HTML and PDF files below a folder through the
//! confined parsers of `document-parser`, follows their changes, and ranks them by BM25. It is
//! one SQLite file in a folder: one process writes it, any number of processes search it, and
//! a damaged file is rebuilt.
//!
//! Postings are not FTS5's, because FTS5 visits every match twice to rank it: with 100,000
//! documents that took 300 ms (p99) for frequent words; this takes less than 10.
#![expect(missing_docs, reason = "the names of most items explain them")]

mod database;
mod index;
mod query;
mod scan;
mod words;

#[cfg(test)]
mod tests;

pub use index::{Config, Index};
pub use query::{Match, Query};

type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read or write the directory")]
    Io(#[from] std::io::Error),
    #[error("cannot access the index")]
    Database(#[from] rusqlite::Error),
}
