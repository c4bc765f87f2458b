//! Downloads of files with known size and digest: from a service, verified, moved to their
//! destination.
//!
//! Data is written to a `.part` file beside the destination, which a later attempt resumes;
//! the destination only ever gets complete, verified files.

pub(crate) mod digest;
mod part;
mod transfer;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use http::Uri;
use rustix::fs::StatVfs;
use task_loop::member::MemberError;
use task_loop::untrusted::printable;

use self::digest::Digest;
use self::part::Part;
use self::transfer::{Failure, Origin, Transfer};
use crate::diagnostic::{Diagnostic, Result};
use crate::home::is_full;
use crate::member::Member;
use crate::output::BYTES;
use crate::session::Session;

#[derive(Debug, Clone)]
pub(crate) struct DownloadRequest {
    /// The address. The key is only sent to the service itself.
    pub(crate) target: Uri,
    pub(crate) bytes: u64,
    pub(crate) sha256: Digest,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) path: &'a Path,
    pub(crate) existing: OnConflict,
    pub(crate) mode: u32,
}

#[derive(Debug)]
enum Progress<'a> {
    At(u64),
    Again { reason: &'a str, pause: Duration },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DownloadOutcome {
    Fetched,
    AlreadyThere,
}

#[derive(Debug, Clone)]
struct Limits {
    /// Timeout without data.
    silence: Duration,
    /// Interval of the minimum rate.
    stretch: Duration,
    /// Minimum bytes per interval; below that the connection is closed.
    least_bytes: u64,
    /// Maximum consecutive attempts without progress.
    fruitless: u32,
    tries: u32,
    /// The pause before the second attempt; it doubles with each attempt.
    pause: Duration,
    longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            stretch: Duration::from_mins(1),
            least_bytes: 16 * 1024,
            fruitless: 5,
            tries: 100,
            pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(30),
        }
    }
}

/// Fetches a file, and shows its progress on a terminal.
pub(crate) async fn download(
    member: &Member,
    wanted: &DownloadRequest,
    place: &Destination<'_>,
    name: &str,
    session: &Session,
) -> Result<DownloadOutcome> {
    let bar = session.output.progress(wanted.bytes, BYTES);
    let watch = |progress: Progress<'_>| match progress {
        Progress::At(bytes) => bar.set_position(bytes),
        Progress::Again { reason, pause } => {
            let seconds = pause.as_secs_f32();
            bar.suspend(|| session.output.detail(format!("{reason}; retrying in {seconds} s")));
        }
    };
    let transfer = Transfer { member, wanted, limits: &Limits::default(), watch: &watch };
    let done = transfer.fetch(place).await;
    bar.finish_and_clear();
    done.map_err(|error| error.diagnostic(name, member))
}

impl Transfer<'_> {
    async fn fetch(&self, place: &Destination<'_>) -> Result<DownloadOutcome, Error> {
        if is_there(self.wanted, place)? {
            return Ok(DownloadOutcome::AlreadyThere);
        }
        let mut part = Part::open(place.path, self.wanted.bytes)?;
        // The previous holder of the part file may have finished.
        if is_there(self.wanted, place)? {
            part.discard();
            return Ok(DownloadOutcome::AlreadyThere);
        }
        match self.fill(&mut part).await {
            Ok(()) => part.publish(place).map(|()| DownloadOutcome::Fetched),
            Err(error) => {
                if error.is_of_content() || part.length() == 0 {
                    part.discard();
                }
                Err(error)
            }
        }
    }

    /// Completes and verifies the part file.
    async fn fill(&self, part: &mut Part) -> Result<(), Error> {
        let DownloadRequest { bytes, sha256: expected, .. } = *self.wanted;
        part.check_room(bytes)?;
        let mut tries = Attempts::new(self.limits, part.length());
        let mut origin = Origin::default();
        loop {
            (self.watch)(Progress::At(part.length()));
            if part.length() == bytes {
                let got = part.digest();
                if got == expected {
                    return Ok(());
                }
                if origin.is_one {
                    return Err(Error::WrongDigest { expected, got });
                }
                part.clear()?;
                origin = Origin::default();
                continue;
            }
            match self.run(part, &mut origin).await {
                Ok(()) => {}
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::StartOver { reason }) => {
                    part.clear()?;
                    origin = Origin::default();
                    tries.next(&reason, None, part)?;
                }
                Err(Failure::Again { reason, after }) => {
                    let pause = tries.next(&reason, after, part)?;
                    (self.watch)(Progress::Again { reason: &reason, pause });
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

/// Whether the destination has this file. A different file that must be kept is an error.
fn is_there(wanted: &DownloadRequest, place: &Destination<'_>) -> Result<bool, Error> {
    let found = match fs::symlink_metadata(place.path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::of_file(place.path, &error)),
    };
    if found.is_dir() {
        return Err(Error::Folder { path: place.path.to_owned() });
    }
    if found.is_file() && found.len() == wanted.bytes {
        let digest = digest::of_file(place.path);
        let digest = digest.map_err(|error| Error::of_file(place.path, &error))?;
        if digest == wanted.sha256 {
            return Ok(true);
        }
    }
    match place.existing {
        OnConflict::Replace => Ok(false),
        OnConflict::Keep => Err(Error::Exists { path: place.path.to_owned() }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnConflict {
    Keep,
    Replace,
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Free bytes of a disk; `None` if the system reports no blocks.
pub(crate) fn free_bytes(disk: &StatVfs) -> Option<u64> {
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[derive(Debug)]
struct Attempts<'a> {
    limits: &'a Limits,
    made: u32,
    /// Consecutive attempts without progress.
    fruitless: u32,
    furthest: u64,
}

impl<'a> Attempts<'a> {
    fn new(limits: &'a Limits, furthest: u64) -> Self {
        Self { limits, made: 0, fruitless: 0, furthest }
    }

    /// The pause before the next attempt; an error after the last one.
    fn next(
        &mut self,
        reason: &str,
        after: Option<Duration>,
        part: &Part,
    ) -> Result<Duration, Error> {
        self.made += 1;
        if part.length() > self.furthest {
            (self.furthest, self.fruitless) = (part.length(), 0);
        }
        self.fruitless += 1;
        if self.fruitless >= self.limits.fruitless || self.made >= self.limits.tries {
            return Err(part.given_up(reason));
        }
        let doubled = self.limits.pause.saturating_mul(1 << (self.fruitless - 1).min(16));
        Ok(after.unwrap_or(doubled).min(self.limits.longest_pause))
    }
}

#[derive(Debug, Clone, thiserror::Error)]
enum Error {
    #[error("{} exists already and is a different file", path.display())]
    Exists { path: PathBuf },
    #[error("{} is a folder", path.display())]
    Folder { path: PathBuf },
    #[error("another process is downloading to {}", path.display())]
    Busy { path: PathBuf },
    /// The file beside the destination is not one of our part files.
    #[error("{} is not a writable file", path.display())]
    Foreign { path: PathBuf },
    #[error("not enough disk space for {}", path.display())]
    NoRoom { path: PathBuf, needed_bytes: u64 },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// The service reports another size.
    #[error("expected {expected} bytes, but the service announces {stated}")]
    WrongSize { expected: u64, stated: u64 },
    #[error("expected {expected} bytes, but received more")]
    TooLong { expected: u64 },
    #[error("expected the SHA-256 {expected}, found {got}")]
    WrongDigest { expected: Digest, got: Digest },
    /// The response is a web page.
    #[error("received a web page instead of a file")]
    Page,
    #[error("the service returned {status}; redirects are not followed")]
    Redirected { status: u16 },
    #[error("{}", trouble.line())]
    Refused { trouble: MemberError },
    /// The response does not match the request.
    #[error("the service sent {what}")]
    Nonsense { what: String },
    #[error("received {got} of {expected} bytes: {reason}")]
    GaveUp { reason: String, got: u64, expected: u64, part: PathBuf },
}

impl Error {
    fn of_file(path: &Path, error: &io::Error) -> Self {
        let path = path.to_owned();
        if is_full(error) {
            return Self::NoRoom { path, needed_bytes: 0 };
        }
        Self::File { path, reason: error.to_string() }
    }

    /// Whether the received data is invalid.
    fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::WrongSize { .. } | Self::TooLong { .. } | Self::WrongDigest { .. } | Self::Page
        )
    }

    fn diagnostic(&self, name: &str, member: &Member) -> Diagnostic {
        if let Self::Refused { trouble } = self {
            return member.diagnostic(trouble);
        }
        let what = format!("cannot download {}", printable(name));
        let here = Diagnostic::failed(&what).because(self);
        let there = Diagnostic::peer(what).because(self);
        match self {
            Self::Exists { .. } => {
                here.hint("replace it with `--force`, or choose another path with `--output`")
            }
            Self::Busy { .. } => here.hint("wait for it, or stop it"),
            Self::Foreign { path } => {
                here.hint(format!("check it, then remove it: {}", path.display()))
            }
            Self::NoRoom { needed_bytes: 0, .. } => {
                here.hint("free up disk space, then run the same command to resume the download")
            }
            Self::NoRoom { needed_bytes, .. } => here.hint(format!("free up {needed_bytes} bytes")),
            Self::Folder { .. } | Self::File { .. } => here,
            Self::WrongSize { .. } | Self::TooLong { .. } | Self::WrongDigest { .. } => {
                there.hint("the download was discarded; report this to the operator of the service")
            }
            Self::Page => there.hint("a proxy or a Wi-Fi portal may require a sign-in"),
            Self::GaveUp { got, part, .. } if *got > 0 => {
                there.hint(format!("run the same command to resume {}", part.display()))
            }
            _ => there,
        }
    }
}

#[cfg(test)]
mod tests;
