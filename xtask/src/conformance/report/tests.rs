//! Tests of `report`.

use super::*;

const CHECKS: &str = r#"[
        {"id": "a", "status": "SUCCESS"},
        {"id": "b", "status": "FAILURE", "description": "B holds", "errorMessage": "it does not"},
        {"id": "c", "status": "FAILURE", "description": "C holds"},
        {"id": "d", "status": "SKIPPED"}
    ]"#;

#[test]
fn folders_are_read_at_any_depth_without_their_time() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["auth/basic-2026-11-15T06-47-08-306Z", "plain-2026-11-15T06-47-08-306Z"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("checks.json"), CHECKS).unwrap();
    }
    let rows = read(folder.path(), "2025-11-25").unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.scenario.as_str()).collect();
    assert_eq!(names, ["auth/basic", "plain"]);
    assert_eq!(rows[0].passed, 1);
    assert_eq!(rows[0].failed, ["b: it does not", "c: C holds"]);
}

#[test]
fn scenario_without_checks_does_not_pass() {
    let row = row("initialize", "2025-11-25", "[]").unwrap();
    assert!(!row.passes());
    assert_eq!(
        table(&[row]),
        "scenario    version     passed  failed\n\
             initialize  2025-11-25       0       0  FAILED\n\
             \n\
             initialize 2025-11-25\n  nothing was checked\n"
    );
}

#[test]
fn invalid_checks_file_is_rejected() {
    let failure = row("initialize", "2025-11-25", "{}").unwrap_err().to_string();
    assert!(failure.contains("checks of `initialize`"), "{failure}");
}
