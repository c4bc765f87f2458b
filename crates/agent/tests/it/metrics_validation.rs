//! Packages of anybody, judged: files, folders, lines, gzip, standard input.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use agent_test_support::command::TestHome;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::command_line::agent;

const GOOD: &str = r#"{"generated_at":"2026-07-28T12:00:00Z","install_id":"6ba7b811-9dad-41d1-80b4-00c04fd430c8","metrics":[{"dimensions":{"attribution":"tool_call","outcome":"approved"},"name":"agent.tool_approval.count","type":"counter","value":3}],"package_id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8","period_end":"2026-07-29T00:00:00Z","period_start":"2026-07-28T00:00:00Z","resource":{"agent_version":"1","architecture":"x86_64","install_method":"git","os_family":"linux"},"schema_version":"agent.shared_metrics.v2"}"#;

fn bad() -> String {
    GOOD.replace("\"approved\"", "\"aproved\"").replace("\"value\":3", "\"value\":0")
}

/// Legal, but its period is two days.
fn odd() -> String {
    GOOD.replace("07-29T00", "07-30T00")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn files(agent: &TestHome, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = agent.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_folder_of_documents_is_validated_in_order() {
    let agent = agent();
    let lines = format!("{GOOD}\n\n{}\n{GOOD}", bad());
    files(
        &agent,
        &[
            ("in/a.json", GOOD.as_bytes()),
            ("in/b.json", bad().as_bytes()),
            ("in/c.json.gz", &gzip(GOOD.as_bytes())),
            ("in/deep/d.ndjson", lines.as_bytes()),
            ("in/deep/e.jsonl.gz", &gzip(lines.as_bytes())),
            ("in/f.json", b"{\"metrics\": [\n  1,\n"),
            ("in/notes.txt", b"not looked at"),
        ],
    );
    insta::assert_snapshot!(agent.run(["metrics", "validate", "in"]).transcript());
    let quiet = agent.run(["metrics", "validate", "in", "--quiet"]);
    assert_eq!((quiet.code, &*quiet.stderr), (1, ""));
}

#[test]
fn json_output_has_a_line_per_document_and_a_summary() {
    let agent = agent();
    files(&agent, &[("a.json", GOOD.as_bytes()), ("b.json", bad().as_bytes())]);
    let run = agent.run(["metrics", "validate", "--json", "a.json", "b.json"]);
    assert_eq!((run.code, &*run.stderr), (1, ""));
    insta::assert_snapshot!(run.stdout);
    for line in run.stdout.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[test]
fn stdin_can_contain_several_documents() {
    let agent = agent();
    let one = agent.run_with_input(["metrics", "validate"], GOOD.as_bytes());
    assert_eq!((one.code, &*one.stderr), (0, "1 document: 1 valid\n"));
    let two = format!("{GOOD}\n{GOOD}\n");
    let as_one = agent.run_with_input(["metrics", "validate", "-"], two.as_bytes());
    assert_eq!(as_one.code, 1);
    assert!(as_one.stdout.contains("after the end of the document"), "{}", as_one.stdout);
    let as_lines =
        agent.run_with_input(["metrics", "validate", "--ndjson", "-"], &gzip(two.as_bytes()));
    assert_eq!((as_lines.code, &*as_lines.stderr), (0, "2 documents: 2 valid\n"));
}

#[test]
fn unreadable_files_are_reported_and_others_validated() {
    let agent = agent();
    files(&agent, &[("a.json", GOOD.as_bytes()), ("cut.json.gz", &gzip(GOOD.as_bytes())[..60])]);
    let run = agent.run(["metrics", "validate", "missing.json", "cut.json.gz", "a.json"]);
    insta::assert_snapshot!(run.transcript(), @r"
    exit code: 1
    ----- stdout -----
    missing.json: cannot read: No such file or directory (os error 2)
    cut.json.gz: cannot read: incomplete deflate stream
    ----- stderr -----
    3 documents: 1 valid, 2 unreadable
    ");
}

#[test]
fn compressed_and_unpacked_sizes_are_limited() {
    let agent = agent();
    let bomb = gzip(&vec![b' '; 50_000_000]);
    assert!(bomb.len() < 1_000_000);
    files(&agent, &[("bomb.json.gz", &bomb), ("plain.json", &vec![b' '; 2_000_000])]);
    let run =
        agent.run(["metrics", "validate", "--max-bytes", "1000000", "bomb.json.gz", "plain.json"]);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout.matches("cannot read: larger than 1000000 bytes").count(),
        2,
        "{}",
        run.stdout
    );
    // Of many lines each has the limit to itself, and one too long spares the rest.
    let long = GOOD.replace("\"1\"", "\"12\"");
    let lines = format!("{GOOD}\n{long}\n{}", format!("{GOOD}\n").repeat(600));
    let limit = GOOD.len().to_string();
    let arguments = ["metrics", "validate", "--ndjson", "--max-bytes", &limit];
    let run = agent.run_with_input(arguments, lines.as_bytes());
    assert_eq!(run.stderr, "602 documents: 601 valid, 1 unreadable\n");
    assert_eq!(run.stdout, format!("-:2: cannot read: larger than {limit} bytes\n"));
}

#[test]
fn violations_beyond_the_limit_are_counted() {
    let agent = agent();
    let run = agent.run_with_input(
        ["metrics", "validate", "--max-errors", "2"],
        br#"{"metrics":[1,2,3,4,5]}"#,
    );
    assert!(
        run.stdout.contains("-: 10 more errors; show more with --max-errors"),
        "{}",
        run.stdout
    );
    assert_eq!(run.stderr, "1 document: 0 valid, 1 invalid (12 errors)\n");
}

#[test]
fn lint_fails_only_on_request() {
    let agent = agent();
    files(&agent, &[("odd.json", odd().as_bytes())]);
    insta::assert_snapshot!(agent.run(["metrics", "lint", "odd.json"]).transcript(), @r"
    exit code: 0
    ----- stdout -----
    odd.json:1:333: warning[L003] /period_start: the period from 2026-07-28T00:00:00Z to 2026-07-30T00:00:00Z is not one UTC day
    ----- stderr -----
    1 document: 1 valid, 1 warning
    ");
    assert_eq!(agent.run(["metrics", "validate", "odd.json"]).code, 0);
    assert_eq!(agent.run(["metrics", "lint", "--deny-warnings", "odd.json"]).code, 1);
    assert_eq!(agent.run_with_input(["metrics", "lint"], bad().as_bytes()).code, 1);
    let json = agent.run(["metrics", "lint", "--json", "odd.json"]).stdout;
    let report: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(report["warnings"][0]["code"], "L003");
}

#[test]
fn thousands_of_files_are_validated_in_order() {
    let agent = agent();
    fs::create_dir(agent.work().join("many")).unwrap();
    for at in 0..2_000 {
        let text = if at % 100 == 7 { bad() } else { GOOD.to_owned() };
        fs::write(agent.work().join(format!("many/{at:04}.json")), text).unwrap();
    }
    let run = agent.run(["metrics", "validate", "many"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.stderr, "2000 documents: 1980 valid, 20 invalid (40 errors)\n");
    let named: Vec<_> = run.stdout.lines().map(|line| &line[..14]).collect();
    assert_eq!(named.len(), 40);
    assert!(named.is_sorted());
}

#[test]
fn non_utf8_names_and_symlinks_are_validated() {
    let agent = agent();
    let folder = agent.work().join("odd");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"\xfe.json")), bad()).unwrap();
    fs::write(agent.work().join("elsewhere"), bad()).unwrap();
    std::os::unix::fs::symlink(agent.work().join("elsewhere"), folder.join("link.json")).unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("loop.json")).unwrap();
    let run = agent.run(["metrics", "validate", "odd"]);
    assert_eq!((run.code, &*run.stderr), (1, "2 documents: 0 valid, 2 invalid (4 errors)\n"));
}

#[test]
fn documents_cannot_forge_output_lines() {
    let agent = agent();
    let key = "\\u001b]0;x\\u0007\\nother.json:1:1: fine";
    let long = "k".repeat(10_000);
    let text = format!("{{\"{key}\": 1, \"{long}\": 1}}");
    let run = agent.run_with_input(["metrics", "validate"], text.as_bytes());
    assert!(run.stdout.lines().all(|line| line.starts_with("-:1:")), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.len() < 1_000), "{}", run.stdout);
}

#[test]
fn very_large_values_are_valid() {
    let agent = agent();
    let large = GOOD.replace("\"value\":3", "\"value\":1000000000000000000000000000000");
    for command in ["validate", "lint"] {
        let run = agent.run_with_input(["metrics", command], large.as_bytes());
        assert_eq!(run.code, 0, "{command}: {}", run.stdout);
    }
}

#[test]
fn documents_of_many_files_are_reported_in_order() {
    let agent = agent();
    fs::create_dir(agent.work().join("lines")).unwrap();
    for at in 0..6 {
        let text = format!("{}\n", bad()).repeat(1_000);
        fs::write(agent.work().join(format!("lines/{at}.ndjson")), text).unwrap();
    }
    let run = agent.run(["metrics", "validate", "--json", "lines"]);
    let places: Vec<_> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|report| report["source"].is_string())
        .map(|report| (report["source"].to_string(), report["line"].as_u64()))
        .collect();
    assert_eq!(places.len(), 6_000);
    assert!(places.is_sorted());
}
