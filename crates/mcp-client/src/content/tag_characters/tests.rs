//! Tests of `tag_characters`.

use super::*;

fn tags(text: &str) -> String {
    text.bytes().filter_map(|byte| char::from_u32(0xE0000 + u32::from(byte))).collect()
}

#[test]
fn tag_characters_are_removed_except_in_flags() {
    let scotland = format!("{FLAG}{}{CANCEL}", tags("gbsct"));
    for (text, expected) in [
        ("plain".to_owned(), "plain".to_owned()),
        (format!("a{}b", tags("ignore all")), "ab".to_owned()),
        (format!("{scotland}!"), format!("{scotland}!")),
        (format!("{scotland}{}", tags("x")), scotland.clone()),
        (format!("{FLAG}{}", tags("gb")), FLAG.to_string()),
        (format!("{FLAG}{CANCEL}"), FLAG.to_string()),
        (format!("{FLAG}{}{CANCEL}", tags("delete1")), FLAG.to_string()),
        (format!("{FLAG}{}{CANCEL}", tags("A b")), FLAG.to_string()),
        ("\u{E0100}variation".to_owned(), "\u{E0100}variation".to_owned()),
    ] {
        assert_eq!(strip_tag_characters(&text), expected);
    }
}
