//! Tests of `files`.

use super::*;

const TAG: &str = "\"abc\"";

fn of(pairs: &[(HeaderName, &str)]) -> Requested {
    let mut headers = HeaderMap::new();
    write(&mut headers, pairs);
    requested(&headers, TAG, 10)
}

#[test]
fn a_single_range_is_parsed() {
    for (range, expected) in [
        ("bytes=0-0", Requested::Part(0..1)),
        ("bytes=2-4", Requested::Part(2..5)),
        ("bytes=2-", Requested::Part(2..10)),
        ("bytes=9-99999999999999999999999", Requested::Part(9..10)),
        ("bytes=-3", Requested::Part(7..10)),
        ("bytes=-11", Requested::Part(0..10)),
        ("bytes=10-", Requested::Unsatisfiable),
        ("bytes=10-12", Requested::Unsatisfiable),
        ("bytes=99999999999999999999999-", Requested::Unsatisfiable),
        ("bytes=-0", Requested::Unsatisfiable),
        ("bytes=4-2", Requested::Whole),
        ("bytes=0-1,3-4", Requested::Whole),
        ("bytes=a-b", Requested::Whole),
        ("bytes=+1-2", Requested::Whole),
        ("bytes=-", Requested::Whole),
        ("bytes=", Requested::Whole),
        ("lines=1-2", Requested::Whole),
    ] {
        assert_eq!(of(&[(RANGE, range)]), expected, "{range}");
    }
    assert_eq!(part("-1", 0), Requested::Unsatisfiable);
    assert_eq!(part("0-", 0), Requested::Unsatisfiable);
}

#[test]
fn if_range_requires_the_same_version() {
    let of = |tag| of(&[(RANGE, "bytes=1-2"), (IF_RANGE, tag)]);
    assert_eq!(of(TAG), Requested::Part(1..3));
    for other in ["\"other\"", "W/\"abc\"", "Wed, 21 Oct 2015 07:28:00 GMT"] {
        assert_eq!(of(other), Requested::Whole, "{other}");
    }
    let mut headers = HeaderMap::new();
    write(&mut headers, &[(RANGE, "bytes=1-2")]);
    headers.insert(IF_RANGE, HeaderValue::from_bytes(b"\xc2\x84").unwrap());
    assert_eq!(requested(&headers, TAG, 10), Requested::Whole, "what is no text is no tag");
}

#[test]
fn current_version_is_not_modified() {
    for tags in [TAG, "W/\"abc\"", "\"x\", \"abc\"", "*"] {
        assert_eq!(of(&[(IF_NONE_MATCH, tags), (RANGE, "bytes=0-1")]), Requested::NotModified);
    }
    assert_eq!(of(&[(IF_NONE_MATCH, "\"x\"")]), Requested::Whole);
}
