//! Transfers that break: what came is used again, and only if it is of the same file.

use std::io::Write;

use agent_test_support::files::{ServedFile, Truncation, write_chunk, write_head};
use proptest::prelude::*;

use super::*;

#[test]
fn interrupted_download_resumes_at_its_offset() {
    let good = bytes(100_000);
    for cut in [1, 10, 50_000, 99_999] {
        let fixture = Fixture::new();
        let content = ServedFile::new(good.clone());
        let server = FileServer::start(move |number, asked, stream| {
            let cut = if number == 0 { Truncation::After(cut) } else { Truncation::Never };
            content.send(asked, stream, cut)
        });
        let ended = fixture.fetch(&server, &good);
        assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched, "{cut}");
        assert_eq!(fs::read(fixture.target()).unwrap(), good);
        assert_eq!(fixture.names(), ["file.bin"]);
        let seen = ranges(&server);
        assert_eq!((seen.len(), &seen[0]), (2, &(None, None)));
        let (range, tag) = &seen[1];
        let begin = range.as_deref().and_then(|range| range.strip_prefix("bytes="));
        let begin: usize = begin.unwrap().strip_suffix('-').unwrap().parse().unwrap();
        assert!((1..=cut).contains(&begin), "{begin} of {cut}");
        assert_eq!(tag.as_deref(), Some("\"one\""));
    }
}

#[test]
fn connections_closed_without_a_response_are_retried() {
    let fixture = Fixture::new();
    let content = ServedFile::new("abc");
    let server = FileServer::start(move |number, asked, stream| match number {
        0 => Ok(()),
        1 => stream.write_all(b"HTTP/1.1 200"),
        2 => write_head(stream, "503 Service Unavailable", "Retry-After: 0\r\n\r\n"),
        _ => content.send(asked, stream, Truncation::Never),
    });
    let ended = fixture.fetch(&server, b"abc");
    assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!(ended.again.len(), 3, "{:?}", ended.again);
}

#[test]
fn download_restarts_if_the_server_ignores_ranges() {
    let fixture = Fixture::new();
    let good = bytes(50_000);
    let content = ServedFile { has_parts: false, ..ServedFile::new(good.clone()) };
    let server = FileServer::start(move |number, asked, stream| {
        let cut = if number == 0 { Truncation::After(20_000) } else { Truncation::Never };
        content.send(asked, stream, cut)
    });
    assert_eq!(fixture.fetch(&server, &good).result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!(fs::read(fixture.target()).unwrap(), good);
    assert!(ranges(&server)[1].0.is_some(), "it was asked for the rest");
}

#[test]
fn download_restarts_if_the_file_changed() {
    let good = bytes(50_000);
    let mut old = good.clone();
    old[0] ^= 1;
    // Servers that look at the tag, those that do not but say theirs, and those that have none.
    for (heeds, new_tag) in [(true, Some("\"two\"")), (false, Some("\"two\"")), (false, None)] {
        let fixture = Fixture::new();
        let old = ServedFile::new(old.clone());
        let new = ServedFile { tag: new_tag.map(str::to_owned), ..ServedFile::new(good.clone()) };
        let server = FileServer::start(move |number, asked, stream| {
            if number == 0 {
                return old.send(asked, stream, Truncation::After(20_000));
            }
            let Some(range) = asked.header("range").filter(|_| !heeds) else {
                return new.send(asked, stream, Truncation::Never);
            };
            let start: usize = range[6..range.len() - 1].parse().unwrap();
            let total = new.bytes.len();
            let tag = new.tag.as_ref().map_or(String::new(), |tag| format!("ETag: {tag}\r\n"));
            let range = format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
            let length = format!("Content-Length: {}\r\n", total - start);
            write_head(stream, "206 Partial Content", &format!("{tag}{range}{length}"))?;
            stream.write_all(&new.bytes[start..])
        });
        let ended = fixture.fetch(&server, &good);
        assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched, "{heeds} {new_tag:?}");
        assert_eq!(fs::read(fixture.target()).unwrap(), good);
    }
}

#[test]
fn a_range_of_a_file_of_another_size_is_rejected() {
    let fixture = Fixture::new();
    let content = ServedFile::new(bytes(1000));
    let server = FileServer::start(move |number, asked, stream| {
        if number == 0 {
            return content.send(asked, stream, Truncation::After(500));
        }
        let head = "Content-Range: bytes 500-1999/2000\r\nContent-Length: 1500\r\n";
        write_head(stream, "206 Partial Content", head)
    });
    let ended = fixture.fetch(&server, &bytes(1000));
    let error = ended.error();
    assert!(matches!(error, Error::WrongSize { expected: 1000, stated: 2000 }), "{error:?}");
    assert_eq!(fixture.names(), Vec::<String>::new());
}

#[test]
fn a_range_at_the_wrong_offset_is_rejected() {
    for range in ["bytes 499-999/1000", "bytes 501-999/1000", "bytes 500-1000/1000", "nonsense"] {
        let fixture = Fixture::new();
        let content = ServedFile::new(bytes(1000));
        let server = FileServer::start(move |number, asked, stream| {
            if number == 0 {
                return content.send(asked, stream, Truncation::After(500));
            }
            write_head(stream, "206 Partial Content", &format!("Content-Range: {range}\r\n"))
        });
        let ended = fixture.fetch(&server, &bytes(1000));
        assert!(!fixture.target().exists());
        assert!(matches!(ended.error(), Error::Nonsense { .. }), "{:?}", ended.error());
    }
}

#[test]
fn existing_partial_file_is_rehashed_and_resumed() {
    let good = bytes(10_000);
    let fixture = Fixture::new();
    fs::write(fixture.part(), &good[..4000]).unwrap();
    let content = ServedFile::new(good.clone());
    let server =
        FileServer::start(move |_, asked, stream| content.send(asked, stream, Truncation::Never));
    assert_eq!(fixture.fetch(&server, &good).result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!(ranges(&server), [(Some("bytes=4000-".to_owned()), None)]);
    assert_eq!(fs::read(fixture.target()).unwrap(), good);
}

#[test]
fn partial_file_with_other_content_is_discarded() {
    let good = bytes(10_000);
    let wrong = vec![b'x'; 4000];
    let too_long = vec![b'x'; 10_001];
    let whole_and_wrong = vec![b'x'; 10_000];
    for (before, requests) in [(wrong, 2), (too_long, 1), (whole_and_wrong, 1)] {
        let fixture = Fixture::new();
        fs::write(fixture.part(), &before).unwrap();
        let content = ServedFile::new(good.clone());
        let server = FileServer::start(move |_, asked, stream| {
            content.send(asked, stream, Truncation::Never)
        });
        assert_eq!(fixture.fetch(&server, &good).result.unwrap(), DownloadOutcome::Fetched);
        assert_eq!(fs::read(fixture.target()).unwrap(), good);
        assert_eq!(server.seen().len(), requests);
    }
}

#[test]
fn a_complete_partial_file_is_installed_without_a_request() {
    let good = bytes(10_000);
    let fixture = Fixture::new();
    fs::write(fixture.part(), &good).unwrap();
    let server = FileServer::start(|_, _, _| Ok(()));
    assert_eq!(fixture.fetch(&server, &good).result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!((server.seen().len(), fixture.names()), (0, vec!["file.bin".to_owned()]));
}

#[test]
fn download_restarts_after_range_not_satisfiable() {
    let fixture = Fixture::new();
    fs::write(fixture.part(), "01234").unwrap();
    let content = ServedFile::new("0123456789");
    let server = FileServer::start(move |_, asked, stream| {
        if asked.header("range").is_some() {
            return write_head(stream, "416 Range Not Satisfiable", "Content-Length: 0\r\n");
        }
        content.send(asked, stream, Truncation::Never)
    });
    assert_eq!(fixture.fetch(&server, b"0123456789").result.unwrap(), DownloadOutcome::Fetched);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn attempts_without_progress_are_limited() {
    let fixture = Fixture::new();
    let server = FileServer::start(|_, _, stream| {
        write_head(stream, "200 OK", "Transfer-Encoding: chunked\r\n")?;
        write_chunk(stream, b"01234")?;
        write_chunk(stream, b"")
    });
    let ended = fixture.fetch(&server, b"0123456789");
    assert!(
        matches!(ended.error(), Error::GaveUp { got: 5, expected: 10, .. }),
        "{:?}",
        ended.error()
    );
    assert_eq!(server.seen().len(), usize::try_from(fixture.limits.fruitless).unwrap());
    assert_eq!(fixture.names(), ["file.bin.part"]);
}

#[test]
fn attempts_with_little_progress_are_limited() {
    let mut fixture = Fixture::new();
    fixture.limits.tries = 7;
    let content = ServedFile::new(bytes(100));
    let server = FileServer::start(move |_, asked, stream| {
        content.send(asked, stream, Truncation::After(1))
    });
    let ended = fixture.fetch(&server, &bytes(100));
    assert!(matches!(ended.error(), Error::GaveUp { got: 7, .. }), "{:?}", ended.error());
    assert_eq!(server.seen().len(), 7);
}

#[test]
fn slow_connection_is_closed_and_the_download_resumed() {
    let mut fixture = Fixture::new();
    fixture.limits.stretch = Duration::from_millis(200);
    fixture.limits.least_bytes = 1000;
    let good = bytes(5000);
    let content = ServedFile::new(good.clone());
    let server = FileServer::start(move |number, asked, stream| {
        if number > 0 {
            return content.send(asked, stream, Truncation::Never);
        }
        write_head(stream, "200 OK", "Content-Length: 5000\r\n")?;
        for byte in &content.bytes {
            stream.write_all(&[*byte])?;
            std::thread::sleep(Duration::from_millis(5)); // sleep: a drip is slow
        }
        Ok(())
    });
    let ended = fixture.fetch(&server, &good);
    assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched);
    assert!(ended.again[0].starts_with("only "), "{:?}", ended.again);
    assert!(ranges(&server)[1].0.is_some());
}

#[test]
fn a_silent_server_times_out() {
    let mut fixture = Fixture::new();
    fixture.limits.silence = Duration::from_millis(100);
    fixture.limits.fruitless = 2;
    let content = ServedFile::new(bytes(100));
    let server = FileServer::start(move |number, asked, stream| {
        let count = if number == 0 { 50 } else { 0 };
        content.send(asked, stream, Truncation::SilentAfter(count))
    });
    let ended = fixture.fetch(&server, &bytes(100));
    assert!(matches!(ended.error(), Error::GaveUp { got: 50, .. }), "{:?}", ended.error());
    assert!(ended.again.iter().any(|reason| reason.contains("no data for")), "{:?}", ended.again);
    assert!(!fixture.target().exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Wherever it breaks and whatever the server can do: in the end the very file is there.
    #[test]
    fn any_interruption_results_in_the_correct_file(
        cuts in prop::collection::vec(1_usize..3000, 0..4),
        has_parts: bool,
        has_tag: bool,
        before in 0_usize..4000,
    ) {
        let good = bytes(3000);
        let fixture = Fixture::new();
        fs::write(fixture.part(), bytes(before)).unwrap();
        let tag = has_tag.then(|| "\"one\"".to_owned());
        let content = ServedFile { bytes: good.clone(), tag, has_parts };
        let server = FileServer::start(move |number, asked, stream| {
            let cut = cuts.get(number).map_or(Truncation::Never, |count| Truncation::After(*count));
            content.send(asked, stream, cut)
        });
        let ended = fixture.fetch(&server, &good);
        prop_assert_eq!(ended.result.unwrap(), DownloadOutcome::Fetched);
        prop_assert_eq!(fs::read(fixture.target()).unwrap(), good);
    }
}
