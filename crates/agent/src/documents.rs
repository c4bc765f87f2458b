//! Finds and reads documents: files, folders, standard input; plain, gzip, or one per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

/// Default maximum size of a document, in bytes.
pub(crate) const DEFAULT_MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Extensions of document files in a folder; `.gz` may follow.
const ENDINGS: [&str; 3] = ["json", "ndjson", "jsonl"];

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentSplit {
    /// By the file's extension; standard input is one document.
    ByName,
    Lines,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    pub(crate) bytes: &'a [u8],
    /// The line of the source it begins on, from 1.
    pub(crate) first_line: usize,
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("larger than {max_bytes} bytes")]
pub(crate) struct Oversized {
    /// The line of the source it begins on, from 1.
    pub(crate) first_line: usize,
    max_bytes: u64,
}

/// A document, or the position of one that is too large.
pub(crate) type SplitDocument<'a> = Result<Document<'a>, Oversized>;

impl Source {
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Stdin => "-".to_owned(),
            Source::File(path) => path.display().to_string(),
        }
    }

    pub(crate) fn is_lines(&self, cut: DocumentSplit) -> bool {
        let by_name = |path: &Path| matches!(ending(path), Some("ndjson" | "jsonl"));
        cut == DocumentSplit::Lines || matches!(self, Source::File(path) if by_name(path))
    }

    /// Reads the source, decompressed, and passes on its documents one by one. `buffer` holds one
    /// document at a time, of at most `max_bytes`.
    pub(crate) fn read(
        &self,
        cut: DocumentSplit,
        max_bytes: u64,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(SplitDocument<'_>),
    ) -> io::Result<()> {
        let (mut from, is_lines) = (self.unpacked()?, self.is_lines(cut));
        for first_line in 1.. {
            buffer.clear();
            // One byte more than the limit, to detect excess.
            let mut bounded = from.by_ref().take(max_bytes.saturating_add(1));
            if !is_lines {
                bounded.read_to_end(buffer)?;
                take(piece(buffer, max_bytes, first_line));
                break;
            }
            if bounded.read_until(b'\n', buffer)? == 0 {
                break;
            }
            let whole = buffer.ends_with(b"\n");
            if whole {
                buffer.pop();
            }
            if !buffer.trim_ascii().is_empty() {
                take(piece(buffer, max_bytes, first_line));
            }
            if !whole {
                // Skip the rest of a line that is too long.
                from.skip_until(b'\n')?;
            }
        }
        Ok(())
    }

    fn unpacked(&self) -> io::Result<Box<dyn BufRead>> {
        let mut from: Box<dyn BufRead> = match self {
            Source::Stdin => Box::new(io::stdin().lock()),
            Source::File(path) => Box::new(BufReader::new(File::open(path)?)),
        };
        let mut magic = Vec::with_capacity(GZIP_MAGIC.len());
        from.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic)?;
        let is_packed = magic == GZIP_MAGIC;
        let whole = Cursor::new(magic).chain(from);
        Ok(if is_packed {
            Box::new(BufReader::new(MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        })
    }
}

fn piece(bytes: &[u8], max_bytes: u64, first_line: usize) -> SplitDocument<'_> {
    if bytes.len() as u64 > max_bytes {
        Err(Oversized { first_line, max_bytes })
    } else {
        Ok(Document { bytes, first_line })
    }
}

/// The sources for these paths: files, folders with all their files, `-` for standard input.
/// No paths mean standard input. An unreadable folder is returned as an error.
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
            Ok(entry) if is_file(&entry) && ending(entry.path()).is_some() => {
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

/// A link to a file counts as one; a link to a folder is not followed.
fn is_file(entry: &walkdir::DirEntry) -> bool {
    let kind = entry.file_type();
    kind.is_file() || (kind.is_symlink() && entry.path().is_file())
}

/// The known extension of a file, ignoring `.gz`.
fn ending(path: &Path) -> Option<&'static str> {
    // A name that is not UTF-8 can have an extension, too.
    let name = path.file_name()?.to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (_, found) = name.rsplit_once('.')?;
    ENDINGS.into_iter().find(|ending| found.eq_ignore_ascii_case(ending))
}
