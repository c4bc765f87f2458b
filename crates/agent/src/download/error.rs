//! Why a download failed.

use std::io;
use std::path::{Path, PathBuf};

use task_loop::member::MemberError;
use task_loop::untrusted::printable;

use super::digest::Digest;
use crate::diagnostic::Diagnostic;
use crate::download::is_full;
use crate::member::Member;

#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Error {
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
    /// The service says that the file is of another size.
    #[error("expected {expected} bytes, but the service announces {stated}")]
    WrongSize { expected: u64, stated: u64 },
    #[error("expected {expected} bytes, but received more")]
    TooLong { expected: u64 },
    #[error("expected the SHA-256 {expected}, found {got}")]
    WrongDigest { expected: Digest, got: Digest },
    /// A web page came instead.
    #[error("received a web page instead of a file")]
    Page,
    #[error("the service returned {status}; redirects are not followed")]
    Redirected { status: u16 },
    #[error("{}", trouble.line())]
    Refused { trouble: MemberError },
    /// What came is no answer to what was asked.
    #[error("the service sent {what}")]
    Nonsense { what: String },
    #[error("received {got} of {expected} bytes: {reason}")]
    GaveUp { reason: String, got: u64, expected: u64, part: PathBuf },
}

impl Error {
    pub(super) fn of_file(path: &Path, error: &io::Error) -> Self {
        let path = path.to_owned();
        if is_full(error) {
            return Self::NoRoom { path, needed_bytes: 0 };
        }
        Self::File { path, reason: error.to_string() }
    }

    /// Whether what came is worth nothing.
    pub(super) fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::WrongSize { .. } | Self::TooLong { .. } | Self::WrongDigest { .. } | Self::Page
        )
    }

    pub(crate) fn diagnostic(&self, name: &str, member: &Member) -> Diagnostic {
        if let Self::Refused { trouble } = self {
            return member.diagnostic(trouble);
        }
        let what = format!("cannot download {}", printable(name));
        let of = match self {
            Self::Exists { .. }
            | Self::Folder { .. }
            | Self::Busy { .. }
            | Self::Foreign { .. }
            | Self::NoRoom { .. }
            | Self::File { .. } => Diagnostic::failed(what),
            _ => Diagnostic::peer(what),
        };
        let of = of.because(self);
        match self {
            Self::Exists { .. } => {
                of.hint("replace it with `--force`, or choose another path with `--output`")
            }
            Self::Busy { .. } => of.hint("wait for it, or stop it"),
            Self::Foreign { path } => {
                of.hint(format!("check it, then remove it: {}", path.display()))
            }
            Self::NoRoom { needed_bytes: 0, .. } => {
                of.hint("free up disk space, then run the same command to resume the download")
            }
            Self::NoRoom { needed_bytes, .. } => of.hint(format!("free up {needed_bytes} bytes")),
            Self::WrongSize { .. } | Self::TooLong { .. } | Self::WrongDigest { .. } => {
                of.hint("the download was discarded; report this to the operator of the service")
            }
            Self::Page => of.hint("a proxy or a Wi-Fi portal may require a sign-in"),
            Self::GaveUp { got, part, .. } if *got > 0 => {
                of.hint(format!("run the same command to resume {}", part.display()))
            }
            _ => of,
        }
    }
}
