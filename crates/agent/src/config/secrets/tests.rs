//! Tests of `secrets`.

use super::*;

fn file(text: &str) -> SecretsFile {
    let variables = env_file::parse(text).0;
    let (path, place) = (".env".into(), SecretPlace::File);
    SecretsFile { path, place, text: text.to_owned(), variables, is_changed: false }
}

#[test]
fn every_value_reads_back_and_every_line_stays() {
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
fn a_name_that_is_taken_gives_way_and_an_equal_value_is_used_again() {
    let mut file = file("A=old\n");
    assert_eq!(file.add("A", "new").unwrap(), "A_2");
    assert_eq!(file.add("A", "old").unwrap(), "A");
    assert_eq!(file.add("A", "new").unwrap(), "A_2");
    assert_eq!(file.text, "A=old\nA_2=new\n");
}

#[test]
fn secrets_of_another_place_are_taken_with_comments_or_added_unless_they_differ() {
    let mut empty = file("");
    empty.take_all(&file("# mine\nA=1\n")).unwrap();
    assert_eq!(empty.text, "# mine\nA=1\n");
    let mut some = file("A=1\nB=2\n");
    some.take_all(&file("# theirs\nA=1\nC='x y'\n")).unwrap();
    assert_eq!(some.text, "A=1\nB=2\nC='x y'\n");
    assert!(some.take_all(&file("B=3\n")).is_err());
}

#[test]
fn a_name_has_only_so_many_values() {
    let mut file = file("");
    for n in 0..MAX_OF_A_NAME {
        file.add("A", &format!("v{n}")).unwrap();
    }
    assert!(file.add("A", "one more").is_err());
}

#[test]
fn an_open_quote_is_not_closed_by_what_is_added() {
    let mut file = file("A='open\n");
    assert!(file.add("B", "# b").is_err());
    assert_eq!(file.text, "A='open\n");
}
