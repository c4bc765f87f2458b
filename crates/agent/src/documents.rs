//! Finds and reads documents: files, folders, standard input; plain, gzip, or one per line.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

/// Largest document that is read unless the caller says otherwise, in bytes.
pub(crate) const DEFAULT_MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Endings of the files that are looked for in a folder; `.gz` may follow.
const ENDINGS: [&str; 3] = ["json", "ndjson", "jsonl"];

/// The first bytes of gzip data.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Where documents come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// How a source is cut into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// As the file's ending says; standard input is one document.
    ByName,
    /// One document per line.
    Lines,
}

/// One document of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// The line of the source it begins on, from 1.
    pub(crate) first_line: usize,
}

impl Source {
    /// The name a person knows it by.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Stdin => "-".to_owned(),
            Source::File(path) => path.display().to_string(),
        }
    }

    fn is_lines(&self, cut: Cut) -> bool {
        match (self, cut) {
            (_, Cut::Lines) => true,
            (Source::Stdin, Cut::ByName) => false,
            (Source::File(path), Cut::ByName) => {
                matches!(ending(path), Some("ndjson" | "jsonl"))
            }
        }
    }

    /// Reads the source into `buffer`, unpacked, and hands its documents over one by one.
    pub(crate) fn read(
        &self,
        cut: Cut,
        max_bytes: u64,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(Document<'_>),
    ) -> io::Result<()> {
        buffer.clear();
        match self {
            Source::Stdin => unpack(io::stdin().lock(), max_bytes, buffer)?,
            Source::File(path) => {
                let file = File::open(path)?;
                if file.metadata()?.is_file() {
                    unpack(file, max_bytes, buffer)?;
                } else {
                    // Pipes and devices have no end to rely on but the limit.
                    unpack(BufReader::new(file), max_bytes, buffer)?;
                }
            }
        }
        if !self.is_lines(cut) {
            take(Document {
                bytes: buffer,
                first_line: 1,
            });
            return Ok(());
        }
        for (at, line) in buffer.split(|byte| *byte == b'\n').enumerate() {
            if !line.trim_ascii().is_empty() {
                take(Document {
                    bytes: line,
                    first_line: at + 1,
                });
            }
        }
        Ok(())
    }
}

/// Reads at most `max_bytes`, unpacking gzip by its magic.
fn unpack(mut from: impl Read, max_bytes: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut magic = [0; 2];
    let mut seen = 0;
    while seen < magic.len() {
        match from.read(&mut magic[seen..])? {
            0 => break,
            count => seen += count,
        }
    }
    let whole = magic[..seen].chain(from);
    if magic == GZIP_MAGIC {
        read_bounded(
            MultiGzDecoder::new(BufReader::new(whole)),
            max_bytes,
            buffer,
        )
    } else {
        read_bounded(whole, max_bytes, buffer)
    }
}

fn read_bounded(from: impl Read, max_bytes: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    from.take(max_bytes.saturating_add(1)).read_to_end(buffer)?;
    if u64::try_from(buffer.len()).unwrap_or(u64::MAX) > max_bytes {
        buffer.clear();
        buffer.shrink_to(1024 * 1024);
        let message = format!("larger than {max_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(())
}

/// The sources behind what was typed: files as they are, folders with all they hold, `-` for
/// standard input. Nothing typed means standard input. What cannot be looked into comes along as
/// an error.
pub(crate) fn sources(paths: &[PathBuf]) -> Vec<Result<Source, (PathBuf, io::Error)>> {
    if paths.is_empty() {
        return vec![Ok(Source::Stdin)];
    }
    let mut found = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            found.push(Ok(Source::Stdin));
        } else if path.is_dir() {
            walk(path, &mut found);
        } else {
            found.push(Ok(Source::File(path.clone())));
        }
    }
    found
}

fn walk(folder: &Path, found: &mut Vec<Result<Source, (PathBuf, io::Error)>>) {
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() && ending(entry.path()).is_some() => {
                found.push(Ok(Source::File(entry.into_path())));
            }
            Ok(_) => {}
            Err(error) => {
                let path = error.path().unwrap_or(folder).to_owned();
                let error = error
                    .into_io_error()
                    .unwrap_or_else(|| io::Error::other("the folder contains itself"));
                found.push(Err((path, error)));
            }
        }
    }
}

/// The known ending of a file, `.gz` left aside.
fn ending(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let (_, found) = name.rsplit_once('.')?;
    ENDINGS
        .into_iter()
        .find(|ending| found.eq_ignore_ascii_case(ending))
}
