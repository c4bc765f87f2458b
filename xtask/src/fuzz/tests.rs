//! Tests of `fuzz`.

use super::*;

#[test]
fn seconds_default_to_twenty_and_are_never_zero() {
    let seconds = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        parse_seconds(&words).map_err(|failure| failure.exit_code())
    };
    assert_eq!(seconds(&[]), Ok(20));
    assert_eq!(seconds(&["3"]), Ok(3));
    assert_eq!(seconds(&["0"]), Err(2));
    assert_eq!(seconds(&["soon"]), Err(2));
    assert_eq!(seconds(&["3", "4"]), Err(2));
}

/// Runs a shell script in place of a fuzz target.
fn run_script(root: &Path, script: &str) -> Result {
    // Written by another process: a file open for writing here could not be executed.
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > program && chmod +x program";
    let mut shell = Command::new("sh");
    process::run(shell.current_dir(root).args(["-c", write, "sh", script])).unwrap();
    run_target(root, &root.join("program"), "validate", 3)
}

#[test]
fn target_gets_its_folders_and_limits() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("fuzz/seeds/validate")).unwrap();
    run_script(root.path(), "echo \"$@\" > arguments").unwrap();
    let arguments = fs::read_to_string(root.path().join("arguments")).unwrap();
    assert_eq!(
        arguments.trim_end(),
        "fuzz/corpus/validate fuzz/seeds/validate -max_total_time=3 -rss_limit_mb=2048 \
             -timeout=60 -max_len=65536 -artifact_prefix=fuzz/artifacts/validate/"
    );
    assert!(root.path().join("fuzz/corpus/validate").is_dir());
    assert!(root.path().join("fuzz/artifacts/validate").is_dir());
}

#[test]
fn decompressing_targets_have_less_memory() {
    assert_eq!((memory_mib("pdf"), memory_mib("html"), memory_mib("validate")), (1024, 1024, 2048));
}

#[test]
fn crash_names_its_artifact_and_reproduction() {
    let root = tempfile::tempdir().unwrap();
    let artifacts = root.path().join("fuzz/artifacts/validate");
    fs::create_dir_all(&artifacts).unwrap();
    fs::write(artifacts.join("crash-earlier"), "").unwrap();
    let crash = "touch fuzz/artifacts/validate/crash-now; exit 77";
    let text = run_script(root.path(), crash).unwrap_err().to_string();
    assert_eq!(
        text,
        "error: fuzz target `validate` broke on fuzz/artifacts/validate/crash-now\n\
             hint: reproduce it with `program fuzz/artifacts/validate/crash-now`"
    );
}

#[test]
fn failure_without_artifact_keeps_its_message() {
    let root = tempfile::tempdir().unwrap();
    let text = run_script(root.path(), "exit 1").unwrap_err().to_string();
    assert!(text.contains("-max_total_time=3") && text.contains("exit status: 1"), "{text}");
}
