//! Tests of `device`.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::json;

use super::*;

fn parsed(change: impl FnOnce(&mut Value)) -> Result<DeviceAuthorization, Error> {
    let mut body = json!({
        "device_code": "d",
        "user_code": "ABCD-EFGH",
        "verification_uri": "https://a.example/device",
        "verification_uri_complete": "https://a.example/device?user_code=ABCD-EFGH",
        "expires_in": 900,
        "interval": 7,
    });
    change(&mut body);
    let (url, headers) = ("https://a.example/code".to_owned(), HeaderMap::new());
    DeviceAuthorization::parse(&HttpReply {
        url,
        status: 200,
        headers,
        body: Bytes::from(body.to_string()),
    })
}

#[test]
fn a_device_code_response_is_parsed() {
    let read = parsed(|_| {}).unwrap();
    assert_eq!((&*read.device_code, &*read.user_code), ("d", "ABCD-EFGH"));
    assert_eq!(read.verification_uri, "https://a.example/device");
    let complete = "https://a.example/device?user_code=ABCD-EFGH";
    assert_eq!(read.verification_uri_complete.as_deref(), Some(complete));
    assert_eq!(read.expires_in, Duration::from_mins(15));
    assert_eq!(read.interval, Duration::from_secs(7));
    let draft = parsed(|body| {
        body["verification_url"] = body["verification_uri"].take();
        body.as_object_mut().unwrap().remove("verification_uri");
    });
    assert_eq!(draft.unwrap().verification_uri, "https://a.example/device");
}

#[test]
fn insecure_or_unprintable_verification_uris_are_rejected() {
    for page in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://a.example/device",
        "http://a.example/device",
        "https://a.example/\u{1b}]8;;https://evil.example\u{7}",
        "https://a.example/\nhttps://evil.example",
        "https://a.example/\u{202e}ecived",
        "/device",
        "",
    ] {
        assert!(parsed(|body| body["verification_uri"] = page.into()).is_err(), "{page:?}");
        // The other page is only a shortcut.
        let read = parsed(|body| body["verification_uri_complete"] = page.into()).unwrap();
        assert_eq!(read.verification_uri_complete, None, "{page:?}");
    }
    let long = format!("https://a.example/{}", "x".repeat(MAX_URL_BYTES));
    assert!(parsed(|body| body["verification_uri"] = long.into()).is_err());
}

#[test]
fn unprintable_or_oversized_codes_are_rejected() {
    let long = "x".repeat(MAX_USER_CODE_BYTES + 1);
    for code in ["\u{1b}[31mABCD", "AB\nCD", "AB\u{200b}CD", "AB\u{7f}", "", &long] {
        let error = parsed(|body| body["user_code"] = code.into()).err().unwrap().to_string();
        assert!(error.contains("`user_code`") && !error.contains('\u{1b}'), "{error}");
    }
    assert!(parsed(|body| body["user_code"] = "x".repeat(MAX_USER_CODE_BYTES).into()).is_ok());
    let long = "x".repeat(MAX_DEVICE_CODE_BYTES + 1);
    assert!(parsed(|body| body["device_code"] = long.into()).is_err());
    assert!(parsed(|body| body["device_code"] = json!(7)).is_err());
}

#[test]
fn an_absurd_interval_or_lifetime_is_bounded() {
    let interval = |value: Value| parsed(|body| body["interval"] = value).unwrap().interval;
    for (value, seconds) in
        [(json!(0), 1), (json!(-3), 1), (json!(1e9), 60), (json!(1e300), 60), (json!("soon"), 5)]
    {
        assert_eq!(interval(value.clone()), Duration::from_secs(seconds), "{value}");
    }
    let lifetime = |value: Value| parsed(|body| body["expires_in"] = value).unwrap().expires_in;
    for value in [json!(null), json!(0), json!(-1), json!(1_000_000_000), json!(1e300)] {
        assert_eq!(lifetime(value.clone()), MAX_WAIT, "{value}");
    }
}
