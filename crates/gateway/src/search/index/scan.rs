//! Looks at a folder, and brings the index up to what is there.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use document_parser::{Error as ParseError, FileFormat, FileText, Pool, Rejection};
use sha2::{Digest, Sha256};
use tantivy::{IndexWriter, TantivyDocument};
use tokio_util::sync::CancellationToken;

use super::fields::Record;
use super::{Error, Opened};

/// The most files of one folder, and how deep below it they may be.
const MAX_FILES: usize = 200_000;
const MAX_DEPTH: usize = 64;
/// How much memory the writer may take while it writes.
const WRITER_BYTES: usize = 32 * 1024 * 1024;
/// After so many files what was read is made durable.
const FILES_A_COMMIT: usize = 1000;
/// A file that was changed this shortly before it was read may be changed again in the same moment.
const SETTLED: Duration = Duration::from_secs(2);

/// What is indexed, and who wants it to stop.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) folder: &'a Path,
    pub(super) max_file_bytes: u64,
    pub(super) stopping: &'a CancellationToken,
    pub(super) parser: &'a Pool,
}

/// A file of the folder.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    format: FileFormat,
    size: u64,
    nanos: i64,
}

/// What a scan did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    /// Files that were read and written to the index.
    pub(super) read: usize,
    /// Files that are gone.
    pub(super) removed: usize,
    /// Files in which nothing can be found.
    pub(super) unreadable: usize,
}

/// Brings the index and the records of it up to what is in the folder.
pub(super) fn scan(
    source: &Source<'_>,
    opened: &Opened,
    records: &mut HashMap<String, Record>,
) -> Result<Done, Error> {
    let files = files(source)?;
    let mut done = Done::default();
    let mut writer = Writer { opened, inner: None, pending: 0 };
    let gone: Vec<String> =
        records.keys().filter(|path| !files.contains_key(*path)).cloned().collect();
    for path in gone {
        writer.remove(&path)?;
        records.remove(&path);
        done.removed += 1;
    }
    for (path, seen) in &files {
        if source.stopping.is_cancelled() {
            break;
        }
        let known = records.get(path);
        if known.is_some_and(|known| known.size == seen.size && known.nanos == seen.nanos) {
            continue;
        }
        let bytes = load(seen, source.max_file_bytes);
        let Ok(bytes) = bytes.map_err(|error| tracing::warn!(path, %error, "not read")) else {
            continue;
        };
        let digest = bytes.as_ref().map(|bytes| hex(&Sha256::digest(bytes))).unwrap_or_default();
        let is_same = known.is_some_and(|known| known.digest == digest);
        // Looked at again next time, if it may change without looking different.
        let nanos = if is_settled(seen.nanos) { seen.nanos } else { 0 };
        let record = Record { size: seen.size, nanos, digest };
        if !is_same {
            let said = match bytes {
                Some(bytes) => source.parser.file_blocking(seen.format, &bytes),
                None => Err(Rejection::TooLarge.into()),
            };
            let said = match said {
                Ok(said) => said,
                Err(ParseError::Busy | ParseError::Unavailable) => continue,
                Err(why) => {
                    tracing::warn!(path, %why, "a file cannot be searched");
                    done.unreadable += 1;
                    FileText { title: None, text: String::new() }
                }
            };
            let title = said.title.unwrap_or_else(|| name(path).to_owned());
            let kept = Record { nanos: seen.nanos, ..record.clone() };
            writer.write(path, &kept, (&title, &said.text))?;
            done.read += 1;
        }
        records.insert(path.clone(), record);
    }
    writer.finish()?;
    Ok(done)
}

/// The writer, which is there only while something is written.
struct Writer<'a> {
    opened: &'a Opened,
    inner: Option<IndexWriter<TantivyDocument>>,
    pending: usize,
}

impl Writer<'_> {
    fn open(&mut self) -> Result<&mut IndexWriter<TantivyDocument>, Error> {
        let writer = match self.inner.take() {
            Some(writer) => writer,
            None => self.opened.index.writer_with_num_threads(1, WRITER_BYTES)?,
        };
        Ok(self.inner.insert(writer))
    }

    fn remove(&mut self, path: &str) -> Result<(), Error> {
        let key = self.opened.fields.key(path);
        self.open()?.delete_term(key);
        Ok(())
    }

    fn write(&mut self, path: &str, record: &Record, said: (&str, &str)) -> Result<(), Error> {
        let document = self.opened.fields.document(path, record, said);
        self.remove(path)?;
        self.open()?.add_document(document)?;
        self.pending += 1;
        if self.pending >= FILES_A_COMMIT {
            self.pending = 0;
            self.open()?.commit()?;
        }
        Ok(())
    }

    /// Makes all of it durable, and waits until segments are put together.
    fn finish(mut self) -> Result<(), Error> {
        if let Some(mut writer) = self.inner.take() {
            writer.commit()?;
            writer.wait_merging_threads()?;
        }
        Ok(())
    }
}

/// The files that can be read, by their path below the folder. Links are not followed, and what is
/// hidden stays so.
fn files(source: &Source<'_>) -> Result<HashMap<String, Seen>, Error> {
    let mut found = HashMap::new();
    let mut folders = vec![(source.folder.to_owned(), String::new(), 0)];
    while let Some((folder, start, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // Without the folder itself all would seem to be gone.
            Err(error) if depth == 0 => return Err(error.into()),
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "a folder cannot be looked at");
                continue;
            }
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_dir() && depth < MAX_DEPTH {
                folders.push((path, format!("{start}{name}/"), depth + 1));
            } else if metadata.is_file()
                && let Some(format) = FileFormat::of(&path)
            {
                if found.len() >= MAX_FILES {
                    tracing::warn!(most = MAX_FILES, "there are more files than are indexed");
                    return Ok(found);
                }
                let (size, nanos) = (metadata.len(), nanos(metadata.modified()));
                found.insert(format!("{start}{name}"), Seen { path, format, size, nanos });
            }
        }
    }
    Ok(found)
}

/// The bytes of a file; none if it is too large.
fn load(seen: &Seen, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    if seen.size > max_bytes {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(&seen.path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    let is_small = u64::try_from(bytes.len()).is_ok_and(|size| size <= max_bytes);
    Ok(is_small.then_some(bytes))
}

fn is_settled(nanos: i64) -> bool {
    let now = self::nanos(Ok(SystemTime::now()));
    let settled = i64::try_from(SETTLED.as_nanos()).unwrap_or(i64::MAX);
    nanos < now.saturating_sub(settled)
}

fn nanos(time: io::Result<SystemTime>) -> i64 {
    let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What an index says it has read.
pub(super) fn records(opened: &Opened) -> Result<HashMap<String, Record>, Error> {
    let mut records = HashMap::new();
    let searcher = opened.reader.searcher();
    for segment in searcher.segment_readers() {
        let columns = segment.fast_fields();
        let (Some(paths), Some(digests)) = (columns.str("path")?, columns.str("digest")?) else {
            continue;
        };
        let (sizes, nanos) = (columns.u64("size")?, columns.i64("nanos")?);
        for document in segment.doc_ids_alive() {
            let (mut path, mut digest) = (String::new(), String::new());
            if let Some(place) = paths.term_ords(document).next() {
                paths.ord_to_str(place, &mut path)?;
            }
            if let Some(place) = digests.term_ords(document).next() {
                digests.ord_to_str(place, &mut digest)?;
            }
            let record = Record {
                size: sizes.first(document).unwrap_or_default(),
                nanos: nanos.first(document).unwrap_or_default(),
                digest,
            };
            records.insert(path, record);
        }
    }
    Ok(records)
}
