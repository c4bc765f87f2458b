//! `agent media`: listed, made, fetched.

use std::fs;

use agent_test_support::command::ProgramOutput;
use agent_test_support::upstream::media::{mp3, png};
use serde_json::Value;

use super::terminal::on_terminal;
use super::{MemberFixture, told};

#[test]
fn media_models_are_listed_with_price_or_reason() {
    let club = MemberFixture::new();
    let served = club.serve();
    told(&club, "media_list", &club.run(&served, &["media", "list"]).transcript());
    let key = club.other_key(&["--scopes", "models", "--models", "test/echo,made/voice"]);
    let run = club.run_with(&served, &key, &["media", "list"]);
    told(&club, "media_list_unusable", &run.transcript());
    let able = club.json(&served, &["media", "list"]);
    let ids: Vec<&Value> = able["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["image", "speech"]);
}

#[test]
fn artifacts_are_listed_and_images_shown_if_supported() {
    let club = MemberFixture::new();
    let served = club.serve();
    let paint = ["media", "run", "made/paint", "a", "lighthouse"];
    let run = club.run(&served, &paint);
    told(&club, "media_run", &run.transcript());
    let made = club.json(&served, &paint);
    assert_eq!((&made["object"], &made["capability"]), (&"media.run".into(), &"image".into()));
    // The prompt is what was typed.
    let asked: Vec<Value> =
        club.fixture.upstream.completions().iter().map(|seen| seen.json()).collect();
    assert_eq!(asked[0]["prompt"], "a lighthouse");
    let with = |name: &str, value: &str| {
        let mut command = club.command(&served.address, &paint);
        command.env(name, value);
        command
    };
    let kitty = on_terminal(&mut with("KITTY_WINDOW_ID", "1"));
    assert!(kitty.code == 0 && kitty.stdout.contains("\u{1b}_Ga=T,f=100,"), "{kitty:?}");
    let iterm = on_terminal(&mut with("TERM_PROGRAM", "iTerm.app"));
    assert!(iterm.stdout.contains("\u{1b}]1337;File=inline=1;"), "{iterm:?}");
    let plain = on_terminal(&mut with("TERM", "xterm-256color"));
    assert!(plain.code == 0 && !plain.stdout.contains('\u{1b}'), "{plain:?}");
    let piped = ProgramOutput::of(&mut with("KITTY_WINDOW_ID", "1"), b"");
    assert!(piped.code == 0 && !piped.stdout.contains('\u{1b}'), "{piped:?}");
    let quiet = on_terminal(with("KITTY_WINDOW_ID", "1").arg("--quiet"));
    assert!(!quiet.stdout.contains('\u{1b}') && quiet.stderr.is_empty(), "{quiet:?}");
}

#[test]
fn media_files_are_verified_and_not_overwritten() {
    let club = MemberFixture::new();
    let served = club.serve();
    let work = club.fixture.agent.work();
    let paint = ["media", "run", "made/paint", "x", "--option", "n=2", "--output", "a.png"];
    let run = club.run(&served, &paint);
    told(&club, "media_run_output", &run.transcript());
    assert_eq!(fs::read(work.join("a.png")).unwrap(), png("x"));
    assert_eq!(fs::read(work.join("a-2.png")).unwrap(), png("x 1"));
    let before = club.balance();
    let run = club.run(&served, &paint);
    told(&club, "media_run_existing", &run.transcript());
    assert_eq!(club.balance(), before, "nothing is made that cannot be kept");
    fs::write(work.join("a.png"), "mine").unwrap();
    let forced = club.run(&served, &[&paint[..], &["--force"]].concat());
    assert_eq!(forced.code, 0, "{forced:?}");
    assert_eq!(fs::read(work.join("a.png")).unwrap(), png("x"));
    let run = club.run(&served, &["media", "run", "made/paint", "x", "--output", "no/a.png"]);
    assert!(run.code == 1 && run.stderr.contains("folder no does not exist"), "{run:?}");
    // One that appears in the meantime stays, and the path of the new file is printed.
    fs::remove_file(work.join("a.png")).unwrap();
    let run = club.run(&served, &paint);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("a-2.png exists already"), "{run:?}");
    assert!(run.stderr.contains("hint: it was created and is available at http"), "{run:?}");
}

#[test]
fn speech_reads_text_from_arguments_and_stdin() {
    let club = MemberFixture::new();
    let served = club.serve();
    let speak = ["media", "run", "made/voice", "-", "--option", "speed=1.5", "--output", "-"];
    let mut command = club.command(&served.address, &speak);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), "Grüße".as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), mp3()));
    let asked = club.fixture.upstream.completions().last().unwrap().json();
    assert_eq!((&asked["input"], &asked["speed"]), (&"Grüße".into(), &1.5.into()));
    let on = on_terminal(&mut club.command(&served.address, &speak));
    assert!(on.code == 2 && on.stderr.contains("standard output is a terminal"), "{on:?}");
}

#[test]
fn invalid_media_requests_are_reported() {
    let club = MemberFixture::new();
    let served = club.serve();
    let runs: Vec<String> = [
        &["media", "run", "paint", "x"][..],
        &["media", "run", "test/echo", "x"],
        &["media", "run", "made/paint"],
        &["media", "run", "made/paint", " "],
        &["media", "run", "made/paint", "x", "--option", "prompt=y"],
        &["media", "run", "made/paint", "x", "--option", "n=99"],
        &["media", "run", "made/paint", "x", "--option", "size"],
        &["media", "run", "made/paint", "x", "--force"],
    ]
    .iter()
    .map(|arguments| club.run(&served, arguments).transcript())
    .collect();
    told(&club, "media_run_wrong", &runs.join("\n"));
    assert_eq!(club.balance(), 10_000_000);
}
