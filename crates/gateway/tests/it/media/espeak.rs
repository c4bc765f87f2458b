//! Speech by the program espeak-ng.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use agent_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::fixture::{paid, with_providers};
use crate::raw::Raw;
use crate::support::{Answer, Holder, PRICE, Running};

/// The part of a script that lists a voice, as the program does.
const VOICES: &str = "case \"$1\" in --voices) printf 'head\\n 5 en M English x\\n'; exit;; \
                      --none) exit;; esac";

const PROVIDER: &str = "  local: {kind: espeak, models: [en, de]}\n";

fn service(provider: &str) -> (Running, Holder) {
    let running = Running::start(&with_providers(&[provider.to_owned()], ""));
    let holder = running.holder("ada", 1000 * PRICE);
    (running, holder)
}

fn say(service: &Running, holder: &Holder, input: &Value) -> Answer {
    let body = json!({"model": "local/en", "input": input, "response": "binary"});
    service.post("/v1/media/run", holder.key.as_str(), &body)
}

/// A program that does what a script says.
fn script(folder: &Path, text: &str) -> String {
    let path = folder.join("speaker");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Another thread may have the file open for writing for a moment.
    eventually("the program can be run", || Command::new(&path).arg("--none").output().is_ok());
    path.display().to_string()
}

#[test]
fn text_is_spoken() {
    let (service, ada) = service(PROVIDER);
    let answer = say(&service, &ada, &json!({"text": "Hello, world"}));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.header("content-type"), "audio/wav");
    // The header says the real length, which the program does not know when it begins.
    let length = u32::from_le_bytes(answer.body[40..44].try_into().unwrap());
    assert_eq!(usize::try_from(length).unwrap(), answer.body.len() - 44);
    let longer = say(&service, &ada, &json!({"text": "Hello, world", "speed": 0.5, "pitch": 20}));
    assert!(longer.body.len() > answer.body.len());
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn text_is_never_a_command_line_argument() {
    let (service, ada) = service(PROVIDER);
    for text in ["-f /etc/passwd", "--version", "$(touch /tmp/owned)", "; rm -rf x", "a\0b", "\n"] {
        let answer = say(&service, &ada, &json!({"text": format!("x {text}")}));
        assert_eq!((answer.status, answer.header("content-type")), (200, "audio/wav"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let program =
        script(folder.path(), &format!("{VOICES}\necho \"$@\" >> {}\ncat", seen.display()));
    let provider = format!("  local: {{kind: espeak, models: [en], program: {program}}}\n");
    let (other, ada) = self::service(&provider);
    let answer = say(&other, &ada, &json!({"text": "-f secret"}));
    assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()));
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("--stdin --stdout -v en -s 175 -p 50"), "{seen}");
    assert!(!seen.contains("secret"), "{seen}");
    assert_eq!(paid(&other, &ada), 0);
}

#[test]
fn invalid_speech_options_are_rejected() {
    let (service, ada) = service(PROVIDER);
    for (input, param) in [
        (json!({"text": ""}), "input.text"),
        (json!({"text": "x", "speed": 9}), "input.speed"),
        (json!({"text": "x", "pitch": 100}), "input.pitch"),
        (json!({"text": "x", "pitch": -1}), "input.pitch"),
        (json!({"text": "x", "response_format": "mp3"}), "input.response_format"),
        (json!({"text": "x", "voice": "de"}), "input.voice"),
    ] {
        let answer = say(&service, &ada, &input);
        assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{input}");
        assert_eq!(answer.json()["error"]["param"], param);
    }
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn voices_are_discovered() {
    let (service, ada) = service("  local: {kind: espeak, discover: true}\n");
    eventually("the voices are listed", || {
        let list = service.get("/v1/models", ada.key.as_str()).good();
        let models = list["data"].as_array().unwrap();
        models.iter().any(|model| model["id"] == "local/de" && model["capabilities"][0] == "speech")
    });
    let body = json!({"model": "local/de", "input": {"text": "Guten Tag"}});
    service.post("/v1/media/run", ada.key.as_str(), &body).good();
}

#[test]
fn a_missing_program_is_unavailable_from_the_first_request() {
    let (service, ada) =
        service("  local: {kind: espeak, models: [en], program: no-such-program}\n");
    let answer = say(&service, &ada, &json!({"text": "x"}));
    assert_eq!(answer.failure(), (503, "capability_unavailable".to_owned()));
    assert_eq!(answer.header("x-receipt-id"), "");
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn a_failing_slow_or_verbose_program_is_free() {
    let folder = tempfile::tempdir().unwrap();
    // It lists a voice; what it says depends on the text.
    let program = script(
        folder.path(),
        &format!(
            "{VOICES}\ntext=$(cat)\n\
             case \"$text\" in fail) exit 3;; hang) exec sleep 600;; empty) exit 0;; \
             much) exec cat /dev/zero;; esac"
        ),
    );
    let provider =
        format!("  local: {{kind: espeak, models: [en], program: {program}, timeout: 1}}\n");
    let text = with_providers(&[provider], "artifacts: {max_bytes: 100000}\n");
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000 * PRICE);
    for (text, words) in [
        ("fail", "the program failed"),
        ("hang", "timed out"),
        ("empty", "is empty"),
        ("much", "too large"),
    ] {
        let answer = say(&service, &ada, &json!({"text": text}));
        assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()), "{text}");
        assert!(answer.text().contains(words), "{}", answer.text());
        assert_eq!(paid(&service, &ada), 0);
    }
}

/// Processes of this folder's programs, zombies too.
fn processes(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_ours = |path: &Path| {
        let line = std::fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        line.contains(mark)
    };
    entries.filter(|entry| is_ours(&entry.path())).count()
}

#[test]
fn disconnect_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().display().to_string();
    let program = script(folder.path(), &format!("{VOICES}\nread -r never < /dev/zero"));
    let (service, ada) =
        service(&format!("  local: {{kind: espeak, models: [en], program: {program}}}\n"));
    let body = json!({"model": "local/en", "input": {"text": "x"}});
    let client = Raw::post(service.address, "/v1/media/run", ada.key.as_str(), &body);
    eventually("the program runs", || processes(&mark) == 1);
    let child = std::process::id();
    drop(client);
    eventually("the program is gone", || processes(&mark) == 0);
    eventually("nobody is left to be reaped", || zombies(child) == 0);
    assert_eq!(paid(&service, &ada), 0);
}

/// Children of a process that have ended and were not waited for.
fn zombies(parent: u32) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_one = |path: &Path| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let after = stat.rsplit_once(") ").map(|(_, after)| after.to_owned()).unwrap_or_default();
        let mut words = after.split(' ');
        words.next() == Some("Z") && words.next() == Some(&parent.to_string())
    };
    entries.filter(|entry| is_one(&entry.path())).count()
}
