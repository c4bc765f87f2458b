//! `agent media download` from a service that means harm.

use std::io::Write;

use agent_test_support::files::write_chunk;

use super::*;
use crate::command_line::agent;

/// Runs a download into an empty folder; the run, and what is in the folder.
fn download(agent: &TestHome, server: &FileServer) -> (ProgramOutput, Vec<String>) {
    let folder = agent.work().join("out");
    fs::create_dir_all(&folder).unwrap();
    let arguments = ["media", "download", RUN, "--output", "out"];
    let run = ProgramOutput::of(&mut agent_at(agent, &server.url(), &arguments), b"");
    (run, names(&folder))
}

#[test]
fn artifact_ids_with_paths_are_rejected() {
    for id in ["../x", "/etc/passwd", "a/b", "a\0b", "..", "", ".hidden", "a\nb", "\x1b[2Jx"] {
        let agent = agent();
        let mut manifest = manifest(b"x");
        manifest["artifacts"][0]["id"] = id.into();
        let server = service(&manifest, |_, _, _| Ok(()));
        let (run, left) = download(&agent, &server);
        assert_eq!((run.code, left), (5, vec![]), "{id:?}: {run:?}");
        assert!(run.stderr.contains("invalid file id"), "{run:?}");
        assert!(!run.stderr.contains('\x1b') && !run.stderr.contains('\0'), "{run:?}");
        assert_eq!(server.seen().len(), 1, "nothing else was asked for");
    }
}

#[test]
fn media_types_with_paths_get_a_default_extension() {
    let agent = agent();
    let mut manifest = manifest(b"x");
    manifest["artifacts"][0]["media_type"] = "image/../../x\u{1b}[2J".into();
    let server = service(&manifest, |_, asked, stream| {
        ServedFile::new("x").send(asked, stream, Truncation::Never)
    });
    let (run, left) = download(&agent, &server);
    assert_eq!((run.code, left), (0, vec![format!("{RUN}.bin")]), "{run:?}");
    assert!(!run.stdout.contains('\x1b'), "{run:?}");
}

#[test]
fn unexpected_content_is_reported_and_discarded() {
    let page = "Content-Type: text/html\r\nContent-Length: 10\r\n";
    let away = "Location: http://127.0.0.1:1/\r\nContent-Length: 0\r\n";
    let mut texts = Vec::new();
    for (status, head, body) in [
        ("200 OK", "Content-Length: 9\r\n", "012345678"),
        ("200 OK", "Content-Length: 11\r\n", "0123456789a"),
        ("200 OK", "Content-Length: 10\r\n", "0123456780"),
        ("200 OK", page, "0123456789"),
        ("302 Found", away, ""),
        ("200 OK", "", "0123456789 and more"),
    ] {
        let agent = agent();
        let server = service(&manifest(b"0123456789"), move |_, _, stream| {
            write_head(stream, status, head)?;
            stream.write_all(body.as_bytes())
        });
        let (run, left) = download(&agent, &server);
        assert_eq!(left, Vec::<String>::new(), "{run:?}");
        texts.push(transcript(&agent, &run));
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn endless_and_invalid_manifests_are_rejected() {
    let agent = agent();
    let server = FileServer::start(|_, _, stream| {
        write_head(stream, "200 OK", "Transfer-Encoding: chunked\r\n")?;
        while write_chunk(stream, &[b' '; 10_000]).is_ok() {}
        Ok(())
    });
    let (run, left) = download(&agent, &server);
    assert_eq!((run.code, left), (5, vec![]), "{run:?}");
    let mut wrong = vec![json!([]), json!({ "artifacts": "many" }), manifest(b"x"), manifest(b"x")];
    wrong[2]["artifacts"][0]["sha256"] = "short".into();
    wrong[3]["artifacts"] = json!(vec![manifest(b"x")["artifacts"][0].clone(); 257]);
    for manifest in wrong {
        let server = service(&manifest, |_, _, _| Ok(()));
        let (run, left) = download(&agent, &server);
        assert_eq!((run.code, left), (5, vec![]), "{run:?}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn an_artifact_without_size_or_digest_is_rejected() {
    for head in ["Content-Length: 1\r\n", "ETag: \"one\"\r\nContent-Length: 1\r\n"] {
        let agent = agent();
        let server = FileServer::start(move |_, _, stream| write_head(stream, "200 OK", head));
        let arguments = ["media", "download", "art_1"];
        let run = ProgramOutput::of(&mut agent_at(&agent, &server.url(), &arguments), b"");
        assert_eq!(run.code, 5, "{run:?}");
        assert!(run.stderr.contains("did not send its size and digest"), "{run:?}");
    }
}
