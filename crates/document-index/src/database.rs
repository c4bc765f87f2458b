//! The SQLite file of an index: documents, their texts, and an inverted index of words.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::Result;
use crate::words::{Singles, words};

/// Version of the stored format; an index of another version is rebuilt.
const VERSION: i64 = 2;
/// Version of a file whose first scan is incomplete.
const UNFINISHED: i64 = 0;
const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE document (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        digest TEXT NOT NULL
    ) STRICT;
    CREATE INDEX document_modified ON document (modified_ns);
    CREATE TABLE content (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL) STRICT;
    CREATE TABLE posting (
        word TEXT NOT NULL,
        block INTEGER NOT NULL,
        entries BLOB NOT NULL,
        PRIMARY KEY (word, block)
    ) STRICT, WITHOUT ROWID;
";
const WRITER_CACHE_KIB: i64 = 32 * 1024;
const MAX_IDLE: usize = 8;
/// Pending entries before a write.
const MAX_PENDING: usize = 500_000;
/// Documents whose ids differ only in the low bits share a row per word.
const BLOCK_BITS: u32 = 10;
/// An entry consists of the low bits of a document id and the weight level of the word.
const LEVEL_BITS: u32 = 16 - BLOCK_BITS;
const MAX_LEVEL: u16 = (1 << LEVEL_BITS) - 1;
/// Weight of level 0, and the factor between levels.
const LEAST_WEIGHT: f32 = 0.02;
const LEVEL_FACTOR: f32 = 1.1;
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Typical number of words of a text, a title and a path. Constants, so that a weight does not
/// depend on other documents.
const USUAL_TEXT: f32 = 300.0;
const USUAL_TITLE: f32 = 6.0;
const USUAL_PATH: f32 = 4.0;
/// Weight factor of words in a title.
const TITLE_FACTOR: f32 = 3.0;

#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

/// State of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) size: u64,
    pub(crate) modified_ns: i64,
    /// In hexadecimal.
    pub(crate) digest: String,
}

/// Content of a file. Without a text, it is recorded but never found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

#[derive(Debug)]
pub(crate) enum Opened {
    Whole(Database),
    /// The first scan is incomplete, or the version differs.
    Unfinished,
    Damaged(String),
}

impl Database {
    /// Creates a file that is not searched before [`Self::finish`].
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        let connection = Connection::open(&path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { path, idle: Mutex::new(vec![connection]) })
    }

    pub(crate) fn open(path: &Path) -> Opened {
        let database = Self { path: path.to_owned(), idle: Mutex::default() };
        let state = database.with(|connection| {
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            let check: String =
                connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            Ok((version, check))
        });
        match state {
            Ok((VERSION, check)) if check == "ok" => Opened::Whole(database),
            Ok((VERSION, check)) => Opened::Damaged(check),
            Ok(_) => Opened::Unfinished,
            Err(error) => Opened::Damaged(error.to_string()),
        }
    }

    /// Marks the first scan as complete.
    pub(crate) fn finish(&self) -> Result<()> {
        self.with(|connection| {
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if version == UNFINISHED {
                connection.pragma_update(None, "user_version", VERSION)?;
            }
            Ok(())
        })
    }

    /// Runs work with exclusive use of a connection.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let open = idle().pop();
        let connection = open.map_or_else(|| connect(&self.path), Ok)?;
        let result = work(&connection)?;
        let mut idle = idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
        Ok(result)
    }

    /// The records of all files, by path.
    pub(crate) fn records(&self) -> Result<HashMap<String, Record>> {
        self.with(|connection| {
            let mut statement =
                connection.prepare("SELECT path, size, modified_ns, digest FROM document")?;
            let rows = statement.query_map([], |row| {
                let size = row.get::<_, i64>(1)?.cast_unsigned();
                Ok((row.get(0)?, Record { size, modified_ns: row.get(2)?, digest: row.get(3)? }))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, flags)?)
}

/// Changes that become visible together. Uncommitted ones are rolled back on drop.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    is_open: bool,
    /// Changed entries by word: document id and level, or `None` to remove it. The last change of
    /// a document wins.
    pending: HashMap<String, Vec<(i64, Option<u16>)>>,
    pending_entries: usize,
}

impl Writer {
    pub(crate) fn new(database: &Database) -> Result<Self> {
        let connection = connect(&database.path)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        Ok(Self { connection, is_open: false, pending: HashMap::new(), pending_entries: 0 })
    }

    fn begin(&mut self) -> Result<()> {
        if !self.is_open {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            self.is_open = true;
        }
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &str) -> Result<()> {
        self.begin()?;
        if let Some(id) = self.id(path)? {
            self.forget_text(id, path)?;
            self.connection.prepare_cached("DELETE FROM document WHERE id = ?")?.execute([id])?;
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, path: &str, record: &Record, content: Text<'_>) -> Result<()> {
        self.begin()?;
        if let Some(id) = self.id(path)? {
            self.forget_text(id, path)?;
        }
        let sql = "INSERT INTO document (path, size, modified_ns, digest) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (path) DO UPDATE SET size = ?2, modified_ns = ?3, digest = ?4
            RETURNING id";
        let Record { size, modified_ns, digest } = record;
        let id = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![path, size.cast_signed(), modified_ns, digest], |row| row.get(0))?;
        if !content.text.is_empty() {
            let sql = "INSERT INTO content (id, title, text) VALUES (?, ?, ?)";
            self.connection
                .prepare_cached(sql)?
                .execute(params![id, content.title, content.text])?;
            for (word, level) in levels(path, content) {
                self.change(word, id, Some(level));
            }
        }
        self.flush_if_large()
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        if self.is_open {
            self.flush()?;
            self.connection.execute_batch("COMMIT")?;
            self.is_open = false;
        }
        Ok(())
    }

    fn id(&self, path: &str) -> Result<Option<i64>> {
        let mut statement =
            self.connection.prepare_cached("SELECT id FROM document WHERE path = ?")?;
        Ok(statement.query_row([path], |row| row.get(0)).optional()?)
    }

    fn forget_text(&mut self, id: i64, path: &str) -> Result<()> {
        let sql = "DELETE FROM content WHERE id = ? RETURNING title, text";
        let known: Option<(String, String)> = self
            .connection
            .prepare_cached(sql)?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((title, text)) = known {
            for (word, _) in levels(path, Text { title: &title, text: &text }) {
                self.change(word, id, None);
            }
        }
        self.flush_if_large()
    }

    fn change(&mut self, word: String, id: i64, level: Option<u16>) {
        self.pending.entry(word).or_default().push((id, level));
        self.pending_entries += 1;
    }

    fn flush_if_large(&mut self) -> Result<()> {
        if self.pending_entries < MAX_PENDING { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        self.pending_entries = 0;
        let mut pending: Vec<_> = self.pending.drain().collect();
        // In table order.
        pending.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (word, mut changes) in pending {
            changes.sort_by_key(|(id, _)| *id);
            for of_block in changes.chunk_by(|(one, _), (next, _)| block(*one) == block(*next)) {
                self.change_block(&word, of_block)?;
            }
        }
        Ok(())
    }

    fn change_block(&self, word: &str, changes: &[(i64, Option<u16>)]) -> Result<()> {
        let connection = &self.connection;
        let block = changes.first().map(|(id, _)| block(*id));
        let mut read = connection
            .prepare_cached("SELECT entries FROM posting WHERE word = ? AND block = ?")?;
        let known: Option<Vec<u8>> =
            read.query_row(params![word, block], |row| row.get(0)).optional()?;
        let mut entries: BTreeMap<u16, u16> =
            known.iter().flat_map(|known| entries(known)).collect();
        for (id, level) in changes {
            match level {
                Some(level) => entries.insert(low_bits(*id), *level),
                None => entries.remove(&low_bits(*id)),
            };
        }
        if entries.is_empty() {
            let sql = "DELETE FROM posting WHERE word = ? AND block = ?";
            connection.prepare_cached(sql)?.execute(params![word, block])?;
        } else {
            let bytes: Vec<u8> = entries
                .into_iter()
                .flat_map(|(id, level)| (id << LEVEL_BITS | level).to_le_bytes())
                .collect();
            let sql = "INSERT OR REPLACE INTO posting (word, block, entries) VALUES (?, ?, ?)";
            connection.prepare_cached(sql)?.execute(params![word, block, bytes])?;
        }
        Ok(())
    }
}

/// The documents with a word, ordered by id, each with the weight of the word.
pub(crate) fn postings(connection: &Connection, word: &str) -> Result<Vec<(i64, f32)>> {
    let weights: Vec<f32> =
        (0..=MAX_LEVEL).map(|level| LEAST_WEIGHT * LEVEL_FACTOR.powf(level.into())).collect();
    let mut statement = connection
        .prepare_cached("SELECT block, entries FROM posting WHERE word = ? ORDER BY block")?;
    let mut rows = statement.query([word])?;
    let mut postings = Vec::new();
    while let Some(row) = rows.next()? {
        let first = row.get::<_, i64>(0)? << BLOCK_BITS;
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        postings.extend(
            entries(bytes).map(|(id, level)| (first | i64::from(id), weights[usize::from(level)])),
        );
    }
    Ok(postings)
}

/// The low bits of document ids, with the levels of the word.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (u16, u16)> {
    let entries = bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
    entries.map(|entry| (entry >> LEVEL_BITS, entry & MAX_LEVEL))
}

fn block(id: i64) -> i64 {
    id >> BLOCK_BITS
}

fn low_bits(id: i64) -> u16 {
    #[expect(clippy::cast_sign_loss, reason = "masked")]
    let low = (id & ((1 << BLOCK_BITS) - 1)) as u16;
    low
}

/// Occurrences of a word in each part of a document.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    title: u16,
    path: u16,
    text: u16,
}

/// The level of each word of a document: the part with the highest weight counts.
fn levels(path: &str, content: Text<'_>) -> impl Iterator<Item = (String, u16)> {
    let mut words_of: HashMap<String, Counts> = HashMap::new();
    let mut count = |text: &str, add: fn(&mut Counts)| {
        let mut length = 0.0;
        for (word, _) in words(text, Singles::Always) {
            length += 1.0;
            add(words_of.entry(word).or_default());
        }
        length
    };
    let of_title = count(content.title, |counts| counts.title = counts.title.saturating_add(1));
    let of_path = count(path, |counts| counts.path = counts.path.saturating_add(1));
    let of_text = count(content.text, |counts| counts.text = counts.text.saturating_add(1));
    let weight = |count: u16, length: f32, usual: f32| {
        let count = f32::from(count);
        count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / usual))
    };
    words_of.into_iter().map(move |(word, counts)| {
        let most = (TITLE_FACTOR * weight(counts.title, of_title, USUAL_TITLE))
            .max(weight(counts.path, of_path, USUAL_PATH))
            .max(weight(counts.text, of_text, USUAL_TEXT));
        let level = (most / LEAST_WEIGHT).log(LEVEL_FACTOR).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let level = level.clamp(0.0, f32::from(MAX_LEVEL)) as u16;
        (word, level)
    })
}
