//! Tests of `key_value`.

use super::*;
use serde_json::json;

fn read(pairs: &[&str]) -> Result<Value> {
    let pairs = pairs.iter().map(|&pair| pair.to_owned()).collect::<Vec<_>>();
    object(&pairs, "argument").map(Value::Object)
}

#[test]
fn values_are_parsed_as_json_if_possible() {
    let found = read(&["a=1", "b=x", "c=[true]", "d=", "e=a=b", "f=\"1\""]).unwrap();
    let expected = json!({"a": 1, "b": "x", "c": [true], "d": "", "e": "a=b", "f": "1"});
    assert_eq!(found, expected);
    for wrong in [&["a"][..], &["=1"], &["a=1", "a=2"]] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}
