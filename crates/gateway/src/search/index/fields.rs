//! What is kept of a file.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{DateTime, Index, TantivyDocument, Term};

use super::words::{Singles, analyzer};

/// The name of the way in which texts are split.
const WORDS: &str = "words";

/// The fields of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// Its path below the folder, with `/`; the key.
    pub(super) path: Field,
    /// What it is called; words of it weigh more.
    pub(super) title: Field,
    /// The words of its path.
    pub(super) name: Field,
    /// What it says.
    pub(super) text: Field,
    /// When it was changed, to look for young ones.
    pub(super) changed: Field,
    /// Size, time of change in nanoseconds, and digest: whether it is still the same.
    pub(super) size: Field,
    pub(super) nanos: Field,
    pub(super) digest: Field,
}

/// What a file looked like when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) size: u64,
    pub(super) nanos: i64,
    /// In hexadecimal.
    pub(super) digest: String,
}

/// The schema, and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let indexed = |record| {
        let indexing = TextFieldIndexing::default().set_tokenizer(WORDS).set_index_option(record);
        TextOptions::default().set_indexing_options(indexing)
    };
    let with_counts = || indexed(IndexRecordOption::WithFreqs);
    let fields = Fields {
        path: schema.add_text_field("path", STRING | STORED | FAST),
        title: schema.add_text_field("title", with_counts() | STORED),
        name: schema.add_text_field("name", with_counts()),
        text: schema.add_text_field("text", with_counts() | STORED),
        changed: schema.add_date_field("changed", FAST | STORED),
        size: schema.add_u64_field("size", FAST),
        nanos: schema.add_i64_field("nanos", FAST),
        digest: schema.add_text_field("digest", STRING | FAST),
    };
    (schema.build(), fields)
}

/// Makes an index know how texts are split.
pub(super) fn register(index: &Index) {
    index.tokenizers().register(WORDS, analyzer(Singles::Always));
}

impl Fields {
    /// A file as it is kept.
    pub(super) fn document(
        &self,
        path: &str,
        record: &Record,
        (title, text): (&str, &str),
    ) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_text(self.path, path);
        document.add_text(self.digest, &record.digest);
        document.add_u64(self.size, record.size);
        document.add_i64(self.nanos, record.nanos);
        document.add_date(self.changed, DateTime::from_timestamp_nanos(record.nanos));
        // What could not be read is remembered, but never found.
        if !text.is_empty() {
            document.add_text(self.title, title);
            document.add_text(self.name, path);
            document.add_text(self.text, text);
        }
        document
    }

    /// What a file is found by.
    pub(super) fn key(&self, path: &str) -> Term {
        Term::from_field_text(self.path, path)
    }
}
