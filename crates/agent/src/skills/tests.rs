//! Tests of `skills`.

use super::*;
use crate::file_name::MAX_NAME_BYTES;

#[test]
fn names_are_short_ascii_identifiers() {
    let longest = "a".repeat(MAX_NAME_BYTES);
    for good in ["a", "7", "write-tests", "x-", longest.as_str()] {
        assert_eq!(Name::parse(good).unwrap().as_str(), good);
    }
    let too_long = "a".repeat(MAX_NAME_BYTES + 1);
    let bad = ["", "-a", "A", "a b", "a/b", "..", ".", "a.b", "ä", "a\n", "a\0", &too_long];
    for bad in bad {
        assert_eq!(Name::parse(bad), None, "{bad:?}");
    }
}
