//! Tests of `secrets`.

use super::*;

fn file(text: &str) -> SecretsFile {
    let variables = env_file::parse(text).0;
    let (path, place) = (".env".into(), SecretPlace::File);
    SecretsFile { path, place, text: text.to_owned(), variables, is_changed: false }
}

#[test]
fn added_values_parse_back_and_existing_lines_are_unchanged() {
    let mut file = file("# mine\nA=1 # one\n\nB='x'");
    let values = ["plain", "", "a b", "#x", "it's", "\"q\"", "a\\nb", "two\nlines", "'\"\\\r$"];
    for (n, value) in values.iter().enumerate() {
        assert_eq!(file.add(&format!("V{n}"), value).unwrap(), format!("V{n}"));
        assert_eq!(file.variables[&format!("V{n}")], *value);
    }
    assert!(file.text.starts_with("# mine\nA=1 # one\n\nB='x'\nV0=plain\nV1=''\n"));
    assert_eq!(file.variables.len(), 2 + values.len());
}

#[test]
fn name_conflicts_get_a_suffix_and_equal_values_are_reused() {
    let mut file = file("A=old\n");
    assert_eq!(file.add("A", "new").unwrap(), "A_2");
    assert_eq!(file.add("A", "old").unwrap(), "A");
    assert_eq!(file.add("A", "new").unwrap(), "A_2");
    assert_eq!(file.text, "A=old\nA_2=new\n");
}

#[test]
fn secrets_of_another_file_are_merged_unless_they_conflict() {
    let mut empty = file("");
    empty.take_all(&file("# mine\nA=1\n")).unwrap();
    assert_eq!(empty.text, "# mine\nA=1\n");
    let mut some = file("A=1\nB=2\n");
    some.take_all(&file("# theirs\nA=1\nC='x y'\n")).unwrap();
    assert_eq!(some.text, "A=1\nB=2\nC='x y'\n");
    assert!(some.take_all(&file("B=3\n")).is_err());
}

#[test]
fn suffixes_of_a_name_are_limited() {
    let mut file = file("");
    for n in 0..MAX_OF_A_NAME {
        file.add("A", &format!("v{n}")).unwrap();
    }
    assert!(file.add("A", "one more").is_err());
}

#[test]
fn files_with_an_unclosed_quote_are_not_edited() {
    let mut file = file("A='open\n");
    assert!(file.add("B", "# b").is_err());
    assert_eq!(file.text, "A='open\n");
}
