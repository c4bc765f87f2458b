//! What comes is not what was promised: it is refused at once, and nothing stays.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use agent_test_support::files::{ServedFile, Truncation, write_chunk, write_head};

use super::*;

/// Nothing came of it, and nothing is left.
fn assert_refused(fixture: &Fixture, server: &FileServer) {
    assert_eq!(fixture.names(), Vec::<String>::new());
    assert_eq!(server.seen().len(), 1, "it was not asked again");
}

#[test]
fn a_valid_file_is_stored_at_its_target() {
    let fixture = Fixture::new();
    let good = bytes(300_000);
    let content = ServedFile::new(good.clone());
    let server =
        FileServer::start(move |_, asked, stream| content.send(asked, stream, Truncation::Never));
    assert_eq!(fixture.fetch(&server, &good).result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!(fs::read(fixture.target()).unwrap(), good);
    assert_eq!(fixture.names(), ["file.bin"]);
    assert_eq!(fs::metadata(fixture.target()).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(server.seen()[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn an_empty_file_needs_no_request() {
    let fixture = Fixture::new();
    let server = FileServer::start(|_, _, _| Ok(()));
    assert_eq!(fixture.fetch(&server, b"").result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!((fixture.names(), server.seen().len()), (vec!["file.bin".to_owned()], 0));
}

#[test]
fn unexpected_content_length_is_rejected_before_reading() {
    for stated in [9_u64, 11, 1_000_000_000_000_000] {
        let fixture = Fixture::new();
        let server = FileServer::start(move |_, _, stream| {
            write_head(stream, "200 OK", &format!("Content-Length: {stated}\r\n"))?;
            stream.write_all(b"0123456789a")
        });
        let ended = fixture.fetch(&server, b"0123456789");
        let is_it = matches!(ended.error(),
            Error::WrongSize { expected: 10, stated: other } if *other == stated);
        assert!(is_it, "{:?}", ended.error());
        assert_refused(&fixture, &server);
    }
}

#[test]
fn endless_body_is_rejected_at_the_first_excess_byte() {
    let fixture = Fixture::new();
    let (gone, left) = std::sync::mpsc::channel();
    let server = FileServer::start(move |_, _, stream| {
        write_head(stream, "200 OK", "Transfer-Encoding: chunked\r\n")?;
        let mut sent = 0_u64;
        while write_chunk(stream, &[b'x'; 1000]).is_ok() {
            sent += 1000;
        }
        let _ = gone.send(sent);
        Ok(())
    });
    let ended = fixture.fetch(&server, &[b'x'; 10_000]);
    assert!(matches!(ended.error(), Error::TooLong { expected: 10_000 }), "{:?}", ended.error());
    assert_refused(&fixture, &server);
    // What the buffers of the system took is all there was.
    let sent = left.recv_timeout(agent_test_support::wait::DEADLINE).unwrap();
    assert!(sent < 64 * 1024 * 1024, "{sent}");
}

#[test]
fn digest_mismatch_is_rejected_naming_both_digests() {
    let fixture = Fixture::new();
    let content = ServedFile::new("0123456780");
    let server =
        FileServer::start(move |_, asked, stream| content.send(asked, stream, Truncation::Never));
    let ended = fixture.fetch(&server, b"0123456789");
    let expected = digest_of(b"0123456789");
    let got = digest_of(b"0123456780");
    let text = ended.error().to_string();
    assert!(text.contains(&expected.to_string()) && text.contains(&got.to_string()), "{text}");
    assert_refused(&fixture, &server);
}

#[test]
fn html_responses_are_rejected() {
    for kind in ["text/html; charset=utf-8", "TEXT/HTML", "application/xhtml+xml"] {
        let fixture = Fixture::new();
        let server = FileServer::start(move |_, _, stream| {
            write_head(stream, "200 OK", &format!("Content-Type: {kind}\r\n"))?;
            stream.write_all(b"<p>sign in")
        });
        let ended = fixture.fetch(&server, b"<p>sign in");
        assert!(matches!(ended.error(), Error::Page), "{:?}", ended.error());
        assert_refused(&fixture, &server);
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let fixture = Fixture::new();
    let good = bytes(100);
    let content = ServedFile::new(good.clone());
    let other =
        FileServer::start(move |_, asked, stream| content.send(asked, stream, Truncation::Never));
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let to = format!("Location: {}/v1/file\r\nContent-Length: 0\r\n", other.url());
        let server = FileServer::start(move |_, _, stream| write_head(stream, status, &to));
        let ended = fixture.fetch(&server, &good);
        assert!(matches!(ended.error(), Error::Redirected { .. }), "{:?}", ended.error());
        assert_eq!(server.seen().len(), 1);
    }
    assert_eq!(other.seen(), []);
    assert!(!fixture.target().exists());
}

#[test]
fn compressed_responses_are_rejected() {
    let fixture = Fixture::new();
    let server = FileServer::start(|_, _, stream| {
        write_head(stream, "200 OK", "Content-Encoding: gzip\r\nContent-Length: 3\r\n")?;
        stream.write_all(b"abc")
    });
    let ended = fixture.fetch(&server, b"abc");
    assert!(matches!(ended.error(), Error::Nonsense { .. }), "{:?}", ended.error());
    assert!(!fixture.target().exists());
}

#[test]
fn unrequested_partial_content_is_rejected() {
    let fixture = Fixture::new();
    let server = FileServer::start(|_, _, stream| {
        let head = "Content-Range: bytes 0-9/10\r\nContent-Length: 10\r\n";
        write_head(stream, "206 Partial Content", head)?;
        stream.write_all(b"0123456789")
    });
    let ended = fixture.fetch(&server, b"0123456789");
    assert!(matches!(ended.error(), Error::Nonsense { .. }), "{:?}", ended.error());
}

#[test]
fn client_errors_are_not_retried() {
    for status in ["401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone"] {
        let fixture = Fixture::new();
        let server = FileServer::start(move |_, _, stream| {
            write_head(stream, status, "Content-Length: 0\r\n")
        });
        let ended = fixture.fetch(&server, b"x");
        assert!(matches!(ended.error(), Error::Refused { .. }), "{:?}", ended.error());
        assert_eq!(server.seen().len(), 1);
    }
}
