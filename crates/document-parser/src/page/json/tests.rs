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
    assert_eq!(pretty(text).as_deref(), Some(expected.as_str()));
    assert_eq!(pretty("\"only\\\\\"").as_deref(), Some("\"only\\\\\""));
    assert_eq!(pretty("{not json"), None);
}
