//! Tests of `batch`.

use super::*;

#[test]
fn tasks_are_lines_or_objects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks");
    std::fs::write(&path, "one\n\n{\"id\": \"b\", \"task\": \"two\"}\n{\"task\":\"x\"}\n").unwrap();
    let jobs = read(&path).unwrap();
    let ids: Vec<&Value> = jobs.iter().map(|job| &job.id).collect();
    assert_eq!(ids, [&json!(1), &json!("b"), &json!(4)]);
    std::fs::write(&path, "fine\n{\"task\": 5}\n").unwrap();
    let error = read(&path).unwrap_err().line();
    assert!(error.contains("tasks:2: invalid task"), "{error}");
    std::fs::write(&path, "\n").unwrap();
    assert!(read(&path).is_err());
}
