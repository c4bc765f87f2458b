//! Tests of `web`.

use super::*;

#[test]
fn page_parts_end_at_character_boundaries() {
    assert_eq!(part("añb€c", 0, 2).unwrap(), ("añ", Some(2)));
    assert_eq!(part("añb€c", 2, 2).unwrap(), ("b€", Some(4)));
    assert_eq!(part("añb€c", 4, 2).unwrap(), ("c", None));
    assert_eq!(part("añb€c", 0, 5).unwrap(), ("añb€c", None));
    assert_eq!(part("añb€c", 5, 1), Err(Fault::BehindEnd(5)));
    assert_eq!(part("a", u32::MAX, u32::MAX), Err(Fault::BehindEnd(1)));
}

#[test]
fn an_invalid_request_names_the_field() {
    let wrong = |body: &str| {
        let error = read(body.as_bytes()).unwrap_err();
        (error.message().to_owned(), error.detail(None).param)
    };
    let (message, param) = wrong(r#"{"url":"http://a.b","maxchars":5}"#);
    assert_eq!(message, "unknown field `maxchars`; did you mean `max_chars`?");
    assert_eq!(param.as_deref(), Some("maxchars"));
    assert_eq!(wrong("{}").0, "`url` is missing");
    assert_eq!(wrong(r#"{"url":5}"#).0, "`url` must be a string");
    assert_eq!(
        wrong(r#"{"url":"x","format":"pdf"}"#).0,
        "`format` must be `markdown`, `text` or `html`"
    );
    for value in ["0", "-1", "1.5", "1000001", "\"5\""] {
        let (message, _) = wrong(&format!(r#"{{"url":"x","max_chars":{value}}}"#));
        assert_eq!(message, "`max_chars` must be a whole number from 1 to 1000000", "{value}");
    }
    let long = "x".repeat(10_000);
    assert!(wrong(&format!(r#"{{"url":"x","{long}":1}}"#)).0.len() < 300);
}
