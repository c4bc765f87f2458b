//! Tests of `json`.

use super::*;

#[test]
fn order_numbers_and_strings_are_preserved() {
    let text =
        r#" {"b":1.50,"a":[ ],"s":"x\\\"{,: [","n":12345678901234567890123,"o":{ "k":[1,{}]}}"#;
    let lines = [
        "{",
        "  \"b\": 1.50,",
        "  \"a\": [],",
        r#"  "s": "x\\\"{,: [","#,
        "  \"n\": 12345678901234567890123,",
        "  \"o\": {",
        "    \"k\": [",
        "      1,",
        "      {}",
        "    ]",
        "  }",
        "}",
    ];
    let expected = lines.join("\n");
    assert_eq!(pretty(text).unwrap(), expected);
    assert_eq!(pretty("\"only\\\\\"").unwrap(), "\"only\\\\\"");
}

#[test]
fn documents_are_reformatted_without_loss() {
    for text in [
        r#"{"b":1,"a":[true,null,{"c":[]},{}],"t":"x, {\"y\": [1]} \\","n":12345678901234567890.10}"#,
        " [ ] ",
        "[[ ],{ }]",
        "3",
        r#""a:b""#,
    ] {
        let pretty = pretty(text).unwrap();
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(&pretty), bare(text));
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(&pretty).is_ok());
    }
    let value = serde_json::json!({"a": [1, {"b": "c"}, []], "d": {}});
    assert_eq!(pretty(&value.to_string()).unwrap(), format!("{value:#}"));
    for wrong in ["", "{", "[1,]", "{} {}", "{not json"] {
        assert!(pretty(wrong).is_err(), "{wrong}");
    }
}
