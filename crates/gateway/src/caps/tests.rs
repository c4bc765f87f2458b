//! Tests of `caps`.

use super::*;

fn checked(caps: Caps, body: &str) -> Result<Option<u64>, String> {
    let object = RawObject::parse(body.as_bytes()).unwrap();
    let conversation = Conversation { field: "messages", bytes: 100, images: 3 };
    check(&caps, &object, &conversation).map_err(|error| error.message().to_owned())
}

#[test]
fn without_caps_nothing_is_checked() {
    assert_eq!(checked(Caps::default(), r#"{"n":1000,"max_tokens":"x"}"#), Ok(None));
}

#[test]
fn cap_errors_name_the_field_its_value_and_the_cap() {
    let of = |text: &str| Err(text.to_owned());
    let n = Caps { n: Some(2), ..Caps::default() };
    assert_eq!(checked(n, r#"{"n":2}"#), Ok(None));
    assert_eq!(checked(n, r#"{"n":3}"#), of("`n` is 3; the limit of this model is 2"));
    assert_eq!(checked(n, r#"{"n":"9"}"#), of("`n` must be a whole number"));
    assert_eq!(checked(n, r#"{"N":3e0,"n":1}"#), of("`n` is 3; the limit of this model is 2"));
    assert_eq!(checked(n, r#"{"n":9,"n":1}"#), of("`n` is 9; the limit of this model is 2"));
    let bytes = Caps { message_bytes: Some(99), ..Caps::default() };
    let message = "`messages` has 100 bytes; the limit of this model is 99";
    assert_eq!(checked(bytes, "{}"), of(message));
    let images = Caps { images: Some(2), ..Caps::default() };
    let message = "`messages` has 3 images; the limit of this model is 2";
    assert_eq!(checked(images, "{}"), of(message));
}

#[test]
fn a_request_without_a_token_limit_gets_the_cap() {
    let caps = Caps { tokens: Some(50), ..Caps::default() };
    assert_eq!(checked(caps, "{}"), Ok(Some(50)));
    assert_eq!(checked(caps, r#"{"max_tokens":null}"#), Ok(Some(50)));
    for name in TOKENS {
        assert_eq!(checked(caps, &format!(r#"{{"{name}":50}}"#)), Ok(None));
        let error = checked(caps, &format!(r#"{{"{name}":51}}"#)).unwrap_err();
        assert_eq!(error, format!("`{name}` is 51; the limit of this model is 50"));
    }
}
