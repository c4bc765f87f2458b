//! `agent update` from a channel that means harm, or breaks.

use agent_test_support::wait::eventually;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::process::Signal;

use super::faults::{Started, length};
use super::update::{install, installed, script};
use super::*;
use crate::command_line::agent;

/// Where this program runs.
fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

/// A manifest with one file, signed with a key that the test knows, whatever its content.
fn signed(version: &str, name: &str, bytes: &[u8]) -> (Value, String) {
    expiring(version, (name, bytes), Some("2999-01-01T00:00:00Z"))
}

/// The same with another expiry, or none, as older versions signed it.
fn expiring(version: &str, file: (&str, &[u8]), expires: Option<&str>) -> (Value, String) {
    let (name, bytes) = file;
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let (platform, at, digest) = (platform(), "2026-01-01T00:00:00Z", sha256(bytes));
    let length = bytes.len();
    let head = match expires {
        Some(expires) => format!("agent downloads 2\n{version}\t{at}\t{expires}"),
        None => format!("agent downloads 1\n{version}\t{at}"),
    };
    let text = format!("{head}\n{name}\t{platform}\t{length}\t{digest}\ta/b\n");
    let mut manifest = json!({
        "version": version, "published_at": at,
        "files": [{
            "name": name, "platform": platform, "bytes": length, "sha256": digest,
            "media_type": "a/b", "url": "http://elsewhere.invalid/agent",
        }],
        "signature": STANDARD.encode(key.sign(text.as_bytes())),
    });
    if let Some(expires) = expires {
        manifest["expires_at"] = expires.into();
    }
    (manifest, STANDARD.encode(key.public_key()))
}

/// A channel with this manifest, whose files are answered by `file`.
fn channel(
    manifest: &Value,
    file: impl Fn(usize, &Request, &mut std::net::TcpStream) -> std::io::Result<()>
    + Send
    + Sync
    + 'static,
) -> FileServer {
    let text = manifest.to_string();
    FileServer::start(move |number, asked, stream| {
        if asked.path == "/dist/manifest.json" {
            return ServedFile::new(text.clone()).send(asked, stream, Truncation::Never);
        }
        file(number, asked, stream)
    })
}

/// Updates from a channel; the run, and what is in the folder of the program.
fn update(agent: &TestHome, server: &FileServer, key: &str) -> (ProgramOutput, Vec<String>) {
    let url = format!("{}/dist/manifest.json", server.url());
    let arguments = ["--channel-url", &url, "--public-key", key];
    let mut command = installed(agent, "http://127.0.0.1:1", &arguments);
    // Whatever is asked there, the key of the service is not told.
    let run = ProgramOutput::of(command.env("AGENT_API_KEY", "agk_secret"), b"");
    assert!(server.seen().iter().all(|asked| asked.header("authorization").is_none()));
    (run, names(&agent.work().join("bin")))
}

#[test]
fn an_expired_or_non_expiring_manifest_is_rejected() {
    let agent = agent();
    install(&agent);
    let program = script("9.9.9");
    for (expires, wanted) in [
        (Some("2026-01-02T00:00:00Z"), "expired at 2026-01-02T00:00:00Z"),
        (None, "has no expiry"),
        (Some("soon"), "has the invalid expiry"),
    ] {
        let (manifest, key) = expiring("9.9.9", ("agent-x", &program), expires);
        let server = channel(&manifest, |_, _, _| Ok(()));
        let (run, names) = update(&agent, &server, &key);
        assert_eq!(run.code, 5, "{run:?}");
        assert!(run.stderr.contains(wanted), "{wanted}: {run:?}");
        assert_eq!((names, server.seen().len()), (vec!["agent".to_owned()], 1), "{expires:?}");
    }
    // The expiry is signed: it cannot be added, moved or removed.
    let (good, key) = signed("9.9.9", "agent-x", &program);
    let (mut old, _) = expiring("9.9.9", ("agent-x", &program), None);
    old["expires_at"] = "2999-01-01T00:00:00Z".into();
    let (mut moved, mut removed) = (good.clone(), good);
    moved["expires_at"] = "3999-01-01T00:00:00Z".into();
    removed.as_object_mut().unwrap().remove("expires_at");
    for manifest in [old, moved, removed] {
        let server = channel(&manifest, |_, _, _| Ok(()));
        let (run, _) = update(&agent, &server, &key);
        assert!(run.stderr.contains("the signature of the manifest is wrong"), "{run:?}");
    }
}

#[test]
fn a_static_file_server_is_a_valid_channel() {
    let agent = agent();
    install(&agent);
    let (manifest, key) = signed("9.9.9", "agent-x", &script("9.9.9"));
    let server = channel(&manifest, |number, asked, stream| {
        assert_eq!(asked.path, "/dist/9.9.9/agent-x", "addresses that are not signed do not count");
        // The connection breaks once on the way.
        let cut = if number == 1 { Truncation::After(10) } else { Truncation::Never };
        ServedFile::new(script("9.9.9")).send(asked, stream, cut)
    });
    let (run, left) = update(&agent, &server, &key);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(left, ["agent", "agent.previous"]);
    assert_eq!(fs::read(agent.work().join("bin/agent")).unwrap(), script("9.9.9"));
    assert!(server.seen().pop().unwrap().header("range").is_some());
}

#[test]
fn a_killed_update_resumes_at_its_offset() {
    let agent = agent();
    install(&agent);
    let program = [script("9.9.9"), vec![b'#'; 50_000]].concat();
    let (manifest, key) = signed("9.9.9", "agent-x", &program);
    let server = channel(&manifest, move |number, asked, stream| {
        let cut = if number == 1 { Truncation::SilentAfter(20_000) } else { Truncation::Never };
        ServedFile::new(program.clone()).send(asked, stream, cut)
    });
    let url = format!("{}/dist", server.url());
    let arguments = ["--channel-url", &url, "--public-key", &key];
    let mut command = installed(&agent, "http://127.0.0.1:1", &arguments);
    let mut first = Started::new(&mut command);
    let part = agent.work().join("bin/.agent-9.9.9.part");
    eventually("the first half is there", || length(&part) == 20_000);
    first.end(Signal::KILL);
    assert_eq!(names(&agent.work().join("bin")), [".agent-9.9.9.part", "agent"]);
    let (run, left) = update(&agent, &server, &key);
    assert_eq!((run.code, left.join(" ")), (0, "agent agent.previous".to_owned()), "{run:?}");
    assert_eq!(server.seen().pop().unwrap().header("range"), Some("bytes=20000-"));
}

#[test]
fn file_names_with_paths_are_rejected() {
    for (version, name) in [
        ("9.9.9", "../agent"),
        ("9.9.9", "/tmp/agent"),
        ("9.9.9", "agent\0"),
        ("9.9.9", ".agent"),
        ("9.9.9", "agent x"),
        ("../9.9.9", "agent-x"),
        ("9/9", "agent-x"),
    ] {
        let agent = agent();
        install(&agent);
        let (manifest, key) = signed(version, name, b"x");
        let server = channel(&manifest, |_, _, _| Ok(()));
        let (run, left) = update(&agent, &server, &key);
        assert_eq!((run.code, left), (5, vec!["agent".to_owned()]), "{run:?}");
        assert!(run.stderr.contains("of the manifest is not as it must be"), "{run:?}");
        assert_eq!(server.seen().len(), 1, "nothing was fetched");
    }
}

#[test]
fn content_that_differs_from_the_signature_is_not_installed() {
    let good = script("9.9.9");
    let mut other = good.clone();
    other[15] ^= 1;
    let away = "Location: http://127.0.0.1:1/\r\nContent-Length: 0\r\n";
    for served in [Some(other), Some(b"short".to_vec()), Some([&good[..], b"long"].concat()), None]
    {
        let agent = agent();
        install(&agent);
        let (manifest, key) = signed("9.9.9", "agent-x", &good);
        let server = channel(&manifest, move |_, asked, stream| match &served {
            Some(bytes) => ServedFile::new(bytes.clone()).send(asked, stream, Truncation::Never),
            None => write_head(stream, "302 Found", away),
        });
        let (run, left) = update(&agent, &server, &key);
        assert_eq!(run.code, 5, "{run:?}");
        assert!(!left.contains(&"agent.previous".to_owned()), "{left:?}");
        let version =
            ProgramOutput::of(Command::new(agent.work().join("bin/agent")).arg("--version"), b"");
        assert_eq!(version.stdout, format!("agent {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn a_malformed_manifest_is_rejected() {
    let (good, key) = signed("9.9.9", "agent-x", b"x");
    let with = |name: &str, value: Value| {
        let mut manifest = good.clone();
        manifest[name] = value;
        manifest
    };
    for manifest in [
        json!(null),
        with("signature", "".into()),
        with("signature", "AAAA".into()),
        with("files", json!([])),
        with("version", "9.9.10".into()),
        with("published_at", "2026-01-01T00:00:01Z".into()),
    ] {
        let agent = agent();
        install(&agent);
        let server = channel(&manifest, |_, _, _| Ok(()));
        let (run, left) = update(&agent, &server, &key);
        assert_eq!((run.code, left), (5, vec!["agent".to_owned()]), "{run:?}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn an_invalid_version_is_reported() {
    let agent = agent();
    install(&agent);
    let (manifest, key) = signed("latest", "agent-x", b"x");
    let server = channel(&manifest, |_, _, _| Ok(()));
    let (run, _) = update(&agent, &server, &key);
    assert!(run.code == 5 && run.stderr.contains("publishes the invalid version"), "{run:?}");
}
