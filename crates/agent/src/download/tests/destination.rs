//! The destination, the part file beside it, and which hosts get the key.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Barrier};

use agent_test_support::files::{ServedFile, Truncation};

use super::*;

fn good_server(content: &'static str) -> FileServer {
    FileServer::start(move |_, asked, stream| {
        ServedFile::new(content).send(asked, stream, Truncation::Never)
    })
}

#[test]
fn existing_file_is_kept_unless_replacement_is_allowed() {
    let fixture = Fixture::new();
    let server = good_server("new");
    fs::write(fixture.target(), "old").unwrap();
    let ended = fixture.fetch(&server, b"new");
    assert!(matches!(ended.error(), Error::Exists { .. }), "{:?}", ended.error());
    assert_eq!((server.seen().len(), fixture.names()), (0, vec!["file.bin".to_owned()]));
    assert_eq!(fs::read(fixture.target()).unwrap(), b"old");
    let ended = fixture.fetch_to(&server, b"new", OnConflict::Replace);
    assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!(fs::read(fixture.target()).unwrap(), b"new");
}

#[test]
fn an_identical_file_is_not_downloaded_again() {
    let fixture = Fixture::new();
    let server = good_server("new");
    fs::write(fixture.target(), "new").unwrap();
    assert_eq!(fixture.fetch(&server, b"new").result.unwrap(), DownloadOutcome::AlreadyThere);
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_file_created_during_the_download_is_not_overwritten() {
    let fixture = Fixture::new();
    let target = fixture.target();
    let server = FileServer::start(move |_, asked, stream| {
        fs::write(&target, "of somebody else").unwrap();
        ServedFile::new("new").send(asked, stream, Truncation::Never)
    });
    let ended = fixture.fetch(&server, b"new");
    assert!(matches!(ended.error(), Error::Exists { .. }), "{:?}", ended.error());
    assert_eq!(fs::read(fixture.target()).unwrap(), b"of somebody else");
}

#[test]
fn a_failed_download_leaves_the_existing_file() {
    let fixture = Fixture::new();
    let server = good_server("bad");
    fs::write(fixture.target(), "old").unwrap();
    let ended = fixture.fetch_to(&server, b"new", OnConflict::Replace);
    assert!(matches!(ended.error(), Error::WrongDigest { .. }), "{:?}", ended.error());
    assert_eq!(fs::read(fixture.target()).unwrap(), b"old");
    assert_eq!(fixture.names(), ["file.bin"]);
}

#[test]
fn a_folder_at_the_target_is_rejected() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.target()).unwrap();
    let ended = fixture.fetch_to(&good_server("new"), b"new", OnConflict::Replace);
    assert!(matches!(ended.error(), Error::Folder { .. }), "{:?}", ended.error());
}

#[test]
fn links_at_the_partial_file_are_not_followed() {
    for is_hard in [false, true] {
        let fixture = Fixture::new();
        let precious = fixture.folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        if is_hard {
            fs::hard_link(&precious, fixture.part()).unwrap();
        } else {
            symlink(&precious, fixture.part()).unwrap();
        }
        let ended = fixture.fetch(&good_server("new"), b"new");
        assert!(matches!(ended.error(), Error::Foreign { .. }), "{:?}", ended.error());
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }
}

#[test]
fn partial_files_are_readable_only_by_the_owner() {
    let fixture = Fixture::new();
    fs::write(fixture.part(), "n").unwrap();
    fs::set_permissions(fixture.part(), fs::Permissions::from_mode(0o644)).unwrap();
    let part = fixture.part();
    let server = FileServer::start(move |_, asked, stream| {
        let mode = fs::metadata(&part).unwrap().permissions().mode() & 0o777;
        let content = ServedFile::new(if mode == 0o600 { "new" } else { "bad" });
        content.send(asked, stream, Truncation::Never)
    });
    assert_eq!(fixture.fetch(&server, b"new").result.unwrap(), DownloadOutcome::Fetched);
}

#[test]
fn concurrent_downloads_do_not_share_a_partial_file() {
    let fixture = Arc::new(Fixture::new());
    let (begun, finish) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (at_begin, at_end) = (Arc::clone(&begun), Arc::clone(&finish));
    let server = Arc::new(FileServer::start(move |_, asked, stream| {
        at_begin.wait();
        at_end.wait();
        ServedFile::new("new").send(asked, stream, Truncation::Never)
    }));
    let first = std::thread::spawn({
        let (fixture, server) = (Arc::clone(&fixture), Arc::clone(&server));
        move || fixture.fetch(&server, b"new").result
    });
    begun.wait();
    let second = fixture.fetch(&server, b"new");
    assert!(matches!(second.error(), Error::Busy { .. }), "{:?}", second.error());
    finish.wait();
    assert_eq!(first.join().unwrap().unwrap(), DownloadOutcome::Fetched);
    assert_eq!(fs::read(fixture.target()).unwrap(), b"new");
}

#[test]
fn api_key_is_sent_only_to_the_service() {
    let fixture = Fixture::new();
    let (service, other) = (good_server("new"), good_server("new"));
    let with_key = |url: &str| {
        let all = [
            ("AGENT_API_KEY".to_owned(), "agk_secret".to_owned()),
            ("AGENT_BASE_URL".to_owned(), format!("{url}/v1")),
        ];
        let agent_home = Some(fixture.folder.path().join("home"));
        let environment =
            Environment { agent_home, all: all.into_iter().collect(), ..Environment::default() };
        let output = Output::new(Style::Human, Volume::Quiet, Color::Never);
        Member::find(&Session::new(output, environment, None)).unwrap()
    };
    let member = with_key(&service.url());
    for (server, expected) in [(&service, Some("Bearer agk_secret")), (&other, None)] {
        let target = format!("{}/v1/file", server.url()).parse().unwrap();
        let wanted = DownloadRequest { target, bytes: 3, sha256: digest_of(b"new") };
        let _ = fs::remove_file(fixture.target());
        let ended = fixture.fetch_wanted(&member, &wanted, OnConflict::Keep);
        assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched);
        assert_eq!(server.seen()[0].header("authorization"), expected);
    }
}
