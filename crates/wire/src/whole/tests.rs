//! Tests of `whole`.

use super::*;

#[test]
fn integers_are_accepted_in_every_notation() {
    let read = |text: &str| serde_json::from_str::<Whole<u32>>(text).ok().map(|Whole(it)| it);
    for (text, number) in
        [("5", 5), ("5.0", 5), ("5e0", 5), ("0", 0), ("-0.0", 0), ("4294967295.0", u32::MAX)]
    {
        assert_eq!(read(text), Some(number), "{text}");
    }
    for text in ["5.5", "-1", "-1.0", "4294967296", "1e300", "\"5\"", "null", "[5]", "true"] {
        assert_eq!(read(text), None, "{text}");
    }
}
