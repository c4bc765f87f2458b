//! Tests of `document`.

use super::*;

#[test]
fn documents_are_reformatted_without_loss() {
    for text in [
        r#"{"b":1,"a":[true,null,{"c":[]},{}],"t":"x, {\"y\": [1]} \\","n":12345678901234567890.10}"#,
        " [ ] ",
        "[[ ],{ }]",
        "3",
        r#""a:b""#,
    ] {
        let set = set(text.as_bytes()).unwrap();
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(&set), bare(text));
        assert!(serde_json::from_str::<IgnoredAny>(&set).is_ok());
    }
    let value = serde_json::json!({"a": [1, {"b": "c"}, []], "d": {}});
    let pretty = format!("{value:#}\n");
    assert_eq!(set(value.to_string().as_bytes()).unwrap(), pretty);
    for wrong in ["", "{", "[1,]", "{} {}"] {
        assert!(set(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
