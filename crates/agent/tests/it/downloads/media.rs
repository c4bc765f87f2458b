//! `agent media download` from the real service, and on a terminal.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Mutex, mpsc};

use super::*;
use crate::chat::screen::Screen;
use crate::command_line::agent;
use crate::gateway::{Fixture, Served};

/// A service that paints, and a member's key.
struct MediaFixture {
    fixture: Fixture,
    served: Served,
    key: String,
}

impl MediaFixture {
    fn open() -> Self {
        let fixture = Fixture::new();
        fixture.configure(&format!(
            "  made:\n    kind: openai\n    base_url: {}\n    api_key: ${{UPSTREAM_KEY}}\n    \
             health: false\n    models: {{paint: {{capabilities: [image]}}}}\n\
             media: {{max_images: 4}}\n",
            fixture.upstream.base_url()
        ));
        let key = fixture.alice();
        let served = fixture.serve();
        Self { fixture, served, key }
    }

    /// Has so many pictures painted.
    fn paint(&self, count: usize) -> Value {
        let body = json!({ "model": "made/paint", "input": { "prompt": "x", "n": count } });
        let body = body.to_string();
        let (status, answer) = self.served.ask("POST", "/v1/media/run", &self.key, &body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    fn download(&self, arguments: &[&str]) -> ProgramOutput {
        let all: Vec<&str> = ["media", "download"].iter().chain(arguments).copied().collect();
        let mut command = self.fixture.agent.command(all);
        command.env("AGENT_BASE_URL", format!("http://{}/v1", self.served.address));
        ProgramOutput::of(command.env("AGENT_API_KEY", &self.key), b"")
    }

    fn transcript(&self, arguments: &[&str]) -> String {
        transcript(&self.fixture.agent, &self.download(arguments))
    }
}

#[test]
fn all_artifacts_of_a_run_are_downloaded_and_verified() {
    let studio = MediaFixture::open();
    let run = studio.paint(2);
    let id = run["id"].as_str().unwrap();
    let work = studio.fixture.agent.work();
    filters().bind(|| insta::assert_snapshot!(studio.transcript(&[id])));
    for (place, artifact) in run["artifacts"].as_array().unwrap().iter().enumerate() {
        let path = work.join(format!("{id}-{}.png", place + 1));
        assert_eq!(artifact["sha256"], sha256(&fs::read(&path).unwrap()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = studio.download(&[id]);
    assert_eq!((again.code, again.stdout.matches("was there").count()), (0, 2), "{again:?}");
    // A file that was changed stays as it is, unless it may be replaced.
    let second = work.join(format!("{id}-2.png"));
    let good = fs::read(&second).unwrap();
    fs::write(&second, "mine").unwrap();
    filters().bind(|| insta::assert_snapshot!("existing_file_is_kept", studio.transcript(&[id])));
    assert_eq!(fs::read(&second).unwrap(), b"mine");
    assert_eq!(studio.download(&[id, "--force"]).code, 0);
    assert_eq!(fs::read(&second).unwrap(), good);
}

#[test]
fn an_artifact_is_stored_at_the_given_path() {
    let studio = MediaFixture::open();
    let made = studio.paint(1);
    let id = made["artifacts"][0]["id"].as_str().unwrap();
    let work = studio.fixture.agent.work();
    let run = studio.download(&[id, "--output", "cat.png", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    filters().bind(|| insta::assert_snapshot!(run.stdout));
    assert_eq!(made["artifacts"][0]["sha256"], sha256(&fs::read(work.join("cat.png")).unwrap()));
    assert_eq!(studio.download(&[id, "--output", "some/pictures/"]).code, 0);
    assert!(work.join(format!("some/pictures/{id}.png")).is_file());
    assert_eq!(studio.download(&[id, id, "--output", "both"]).code, 0);
    assert_eq!(names(&work.join("both")), [format!("{id}.png")]);
}

#[test]
fn unknown_and_invalid_ids_are_reported() {
    let studio = MediaFixture::open();
    let texts = [
        studio.transcript(&["run_00000000000000000000000000000000"]),
        studio.transcript(&["art_00000000000000000000000000000000"]),
        studio.transcript(&["../../etc/passwd"]),
        studio.transcript(&["run_/../x"]),
    ];
    filters().bind(|| insta::assert_snapshot!(texts.join("\n")));
    let many = vec!["run_1"; 257];
    assert_eq!(studio.download(&many).code, 2, "there is a limit");
}

#[test]
fn downloads_show_a_progress_bar_at_a_terminal() {
    let agent = agent();
    let bytes = vec![7; 400_000];
    let content = bytes.clone();
    let (go_on, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let server = service(&manifest(&bytes), move |_, _, stream| {
        write_head(stream, "200 OK", "Content-Length: 400000\r\n")?;
        for quarter in content.chunks(100_000) {
            stream.write_all(quarter)?;
            // The first two, and then the rest at once.
            let _ = gate.lock().unwrap().recv();
        }
        Ok(())
    });
    let screen = Screen::start(&mut agent_at(&agent, &server.url(), &["media", "download", RUN]));
    for position in ["100.00 kB/400.00 kB", "200.00 kB/400.00 kB"] {
        screen.sees(position);
        go_on.send(()).unwrap();
    }
    drop(go_on);
    let (code, text) = screen.finish();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("kB/"), "the bar is gone in the end: {text}");
    fs::remove_file(agent.work().join(format!("{RUN}.png"))).unwrap();
    let piped =
        ProgramOutput::of(&mut agent_at(&agent, &server.url(), &["media", "download", RUN]), b"");
    assert_eq!((piped.code, piped.stderr.as_str()), (0, ""), "{piped:?}");
}
