//! Finds and reads documents: files, folders, standard input; plain, gzip, or one per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
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

    /// Reads the source, unpacked, and hands its documents over one by one. `buffer` holds one
    /// document at a time, of at most `max_bytes`.
    pub(crate) fn read(
        &self,
        cut: Cut,
        max_bytes: u64,
        buffer: &mut Vec<u8>,
        take: impl FnMut(Document<'_>),
    ) -> io::Result<()> {
        let bounds = Bounds { lines: self.is_lines(cut), max_bytes };
        match self {
            Source::Stdin => unpack(io::stdin().lock(), bounds, buffer, take),
            Source::File(path) => unpack(BufReader::new(File::open(path)?), bounds, buffer, take),
        }
    }
}

/// How a source is read.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Whether every line is a document.
    lines: bool,
    max_bytes: u64,
}

/// Unpacks gzip, known by its magic.
fn unpack(
    mut from: impl BufRead,
    bounds: Bounds,
    buffer: &mut Vec<u8>,
    take: impl FnMut(Document<'_>),
) -> io::Result<()> {
    let mut magic = Vec::with_capacity(GZIP_MAGIC.len());
    from.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic)?;
    let packed = magic == GZIP_MAGIC;
    let whole = magic.chain(from);
    if packed {
        read_documents(BufReader::new(MultiGzDecoder::new(whole)), bounds, buffer, take)
    } else {
        read_documents(whole, bounds, buffer, take)
    }
}

fn read_documents(
    mut from: impl BufRead,
    bounds: Bounds,
    buffer: &mut Vec<u8>,
    mut take: impl FnMut(Document<'_>),
) -> io::Result<()> {
    for first_line in 1.. {
        buffer.clear();
        // One byte more than allowed tells that there is more.
        let mut bounded = from.by_ref().take(bounds.max_bytes.saturating_add(1));
        let count = if bounds.lines {
            bounded.read_until(b'\n', buffer)?
        } else {
            bounded.read_to_end(buffer)?
        };
        if count as u64 > bounds.max_bytes {
            *buffer = Vec::new();
            let message = format!("larger than {} bytes", bounds.max_bytes);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if !bounds.lines {
            take(Document { bytes: buffer, first_line });
            return Ok(());
        }
        if count == 0 {
            return Ok(());
        }
        if !buffer.trim_ascii().is_empty() {
            let bytes = buffer.strip_suffix(b"\n").unwrap_or(buffer);
            take(Document { bytes, first_line });
        }
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
    ENDINGS.into_iter().find(|ending| found.eq_ignore_ascii_case(ending))
}
