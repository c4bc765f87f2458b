//! Compares a folder with the index, and writes the changes.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use document_parser::{Error as ParseError, FileFormat, FileText, Pool, Rejection};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::Result;
use crate::database::{Database, Record, Text, Writer};

/// Maximum number of files of one folder, and maximum depth.
const MAX_FILES: usize = 200_000;
const MAX_DEPTH: usize = 64;
/// Number of files after which progress is committed.
const FILES_A_COMMIT: usize = 1000;
/// A file modified this recently may change again without a new timestamp.
const SETTLED: Duration = Duration::from_secs(2);

/// The indexed folder, and the stop signal.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) max_file_bytes: u64,
    pub(crate) stopping: &'a CancellationToken,
    pub(crate) parser: &'a Pool,
}

#[derive(Debug)]
struct Seen {
    path: PathBuf,
    format: FileFormat,
    size: u64,
    modified_ns: i64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// Files that were read and written to the index.
    pub(crate) read: usize,
    pub(crate) removed: usize,
    /// Files without searchable text.
    pub(crate) unreadable: usize,
}

/// Updates the index and its records from the folder.
pub(crate) fn scan(
    source: &Source<'_>,
    database: &Database,
    records: &mut HashMap<String, Record>,
) -> Result<Done> {
    let files = files(source)?;
    let mut done = Done::default();
    let mut writer = Writer::new(database)?;
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
        if known
            .is_some_and(|known| known.size == seen.size && known.modified_ns == seen.modified_ns)
        {
            continue;
        }
        let bytes = load(seen, source.max_file_bytes);
        let Ok(bytes) = bytes.map_err(|error| tracing::warn!(path, %error, "cannot read file"))
        else {
            continue;
        };
        let digest = bytes.as_ref().map(|bytes| hex(&Sha256::digest(bytes))).unwrap_or_default();
        let is_same = known.is_some_and(|known| known.digest == digest);
        // Read again next time if it may change without a new timestamp.
        let modified_ns = if is_settled(seen.modified_ns) { seen.modified_ns } else { 0 };
        let record = Record { size: seen.size, modified_ns, digest };
        if !is_same {
            let parsed = match bytes {
                Some(bytes) => source.parser.file_blocking(seen.format, &bytes),
                None => Err(Rejection::TooLarge.into()),
            };
            let content = match parsed {
                Ok(content) => content,
                Err(ParseError::Busy | ParseError::Unavailable) => continue,
                Err(why) => {
                    tracing::warn!(path, %why, "file not searchable");
                    done.unreadable += 1;
                    FileText { title: None, text: String::new() }
                }
            };
            let title = content.title.unwrap_or_else(|| name(path).to_owned());
            let stored = Record { modified_ns: seen.modified_ns, ..record.clone() };
            writer.write(path, &stored, Text { title: &title, text: &content.text })?;
            done.read += 1;
            if done.read.is_multiple_of(FILES_A_COMMIT) {
                writer.commit()?;
            }
        }
        records.insert(path.clone(), record);
    }
    writer.commit()?;
    Ok(done)
}

/// The supported files, by relative path. Links are not followed, hidden files are skipped.
fn files(source: &Source<'_>) -> Result<HashMap<String, Seen>> {
    let mut found = HashMap::new();
    let mut folders = vec![(source.folder.to_owned(), String::new(), 0)];
    while let Some((folder, start, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // A missing folder must not delete all entries.
            Err(error) if depth == 0 => return Err(error.into()),
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "cannot read directory");
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
                    tracing::warn!(most = MAX_FILES, "too many files; the rest is not indexed");
                    return Ok(found);
                }
                let (size, modified_ns) = (metadata.len(), nanos(metadata.modified()));
                found.insert(format!("{start}{name}"), Seen { path, format, size, modified_ns });
            }
        }
    }
    Ok(found)
}

/// The bytes of a file; `None` if it is too large.
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
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
