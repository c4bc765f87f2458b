//! Files fetched from servers that misbehave, on a real disk.

mod content;
mod destination;
mod resuming;

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use agent_test_support::files::FileServer;
use ring::digest::{SHA256, digest};
use tempfile::TempDir;

use super::*;
use crate::environment::Environment;
use crate::member::settings::{Settings, Sourced};
use crate::output::{Color, Output, Style, Volume};
use crate::session::Session;

/// A folder, and what is wanted in it.
struct Fixture {
    folder: TempDir,
    limits: Limits,
}

struct Ended {
    result: Result<DownloadOutcome, Error>,
    again: Vec<String>,
}

impl Ended {
    fn error(&self) -> &Error {
        self.result.as_ref().unwrap_err()
    }
}

fn digest_of(bytes: &[u8]) -> Digest {
    let mut text = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        text += &format!("{byte:02x}");
    }
    Digest::parse(&text).unwrap()
}

/// The service at an address, with a key or without.
fn member(url: &str) -> Member {
    let output = Output::new(Style::Human, Volume::Quiet, Color::Never);
    let session = Session::new(output, Environment::default(), None);
    let base = Sourced { value: format!("{url}/v1"), place: "set by a test".to_owned() };
    Member::of(Settings::open_to_all(base).unwrap(), &session).unwrap()
}

impl Fixture {
    fn new() -> Self {
        let limits = Limits {
            silence: Duration::from_secs(20),
            pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(4),
            ..Limits::default()
        };
        Self { folder: tempfile::tempdir().unwrap(), limits }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("file.bin")
    }

    fn part(&self) -> PathBuf {
        self.folder.path().join("file.bin.part")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn fetch(&self, server: &FileServer, bytes: &[u8]) -> Ended {
        self.fetch_to(server, bytes, OnConflict::Keep)
    }

    fn fetch_to(&self, server: &FileServer, bytes: &[u8], existing: OnConflict) -> Ended {
        let target = format!("{}/v1/file", server.url()).parse().unwrap();
        let wanted =
            DownloadRequest { target, bytes: bytes.len() as u64, sha256: digest_of(bytes) };
        self.fetch_wanted(&member(&server.url()), &wanted, existing)
    }

    fn fetch_wanted(
        &self,
        member: &Member,
        wanted: &DownloadRequest,
        existing: OnConflict,
    ) -> Ended {
        let again = RefCell::new(Vec::new());
        let watch = |progress: Progress<'_>| {
            if let Progress::Again { reason, .. } = progress {
                again.borrow_mut().push(reason.to_owned());
            }
        };
        let target = self.target();
        let place = Destination { path: &target, existing, mode: 0o640 };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let transfer = Transfer { member, wanted, limits: &self.limits, watch: &watch };
        let result = runtime.block_on(transfer.fetch(&place));
        Ended { result, again: again.into_inner() }
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|place| u8::try_from((place * 7 + place / 251) % 256).unwrap()).collect()
}

/// Which bytes each request asked for, and of which file.
fn ranges(server: &FileServer) -> Vec<(Option<String>, Option<String>)> {
    let of = |asked: agent_test_support::files::Request| {
        let header = |name| asked.header(name).map(str::to_owned);
        (header("range"), header("if-range"))
    };
    server.seen().into_iter().map(of).collect()
}
