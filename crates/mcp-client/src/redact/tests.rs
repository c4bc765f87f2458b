//! What must not come through, and what must.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

fn redactor(values: &[(&str, &str)]) -> Redactor {
    Redactor::new(values.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())))
}

#[test]
fn known_secrets_are_redacted_in_every_encoding() {
    let secret = "p@ss/wörd \"1\"+?";
    let redactor = redactor(&[("DB", secret)]);
    for form in [
        secret.to_owned(),
        STANDARD.encode(secret),
        URL_SAFE.encode(secret),
        "p%40ss%2Fw%C3%B6rd%20%221%22%2B%3F".to_owned(),
        "p%40ss%2fw%c3%b6rd%20%221%22%2b%3f".to_owned(),
        "p%40ss%2Fw%C3%B6rd+%221%22%2B%3F".to_owned(),
        r#"p@ss/wörd \"1\"+?"#.to_owned(),
        r#"p@ss\/wörd \"1\"+?"#.to_owned(),
        r#"p@ss/w\u00f6rd \"1\"+?"#.to_owned(),
    ] {
        let redacted = redactor.redact(&format!("before {form} after")).into_owned();
        let rest = redacted.replace('=', "");
        assert_eq!(rest, "before [redacted:DB] after", "{form}");
    }
}

#[test]
fn secrets_inside_longer_base64_are_redacted() {
    let secret = "hunter2hunter2";
    let redactor = redactor(&[("PW", secret)]);
    for user in ["", "u:", "us:", "usr:", "user:"] {
        for after in ["", "x", "xy", "xyz"] {
            let basic = STANDARD.encode(format!("{user}{secret}{after}"));
            let redacted = redactor.redact(&basic).into_owned();
            assert!(redacted.contains("[redacted:PW]"), "{user} {after}: {redacted}");
            // Beside the mark stand the user's name, what follows, and at most one mixed
            // character on either side.
            let beside = STANDARD.encode(format!("{user}{after}")).len() + 6;
            assert!(redacted.len() <= "[redacted:PW]".len() + beside, "{user} {after}: {redacted}");
        }
    }
}

#[test]
fn the_longest_secret_is_redacted_and_short_ones_ignored() {
    let redactor = redactor(&[("A", "secret"), ("B", "secret-longer"), ("C", "abc")]);
    assert_eq!(redactor.redact("secret-longer secret abc"), "[redacted:B] [redacted:A] abc");
}

#[test]
fn redaction_labels_never_contain_a_secret() {
    let redactor = redactor(&[("L", "hunter2"), ("M", "]abc"), ("N", "redacted")]);
    let redacted = redactor.redact("hunter2abc redacted").into_owned();
    for value in ["hunter2", "]abc", "redacted"] {
        assert!(!redacted.contains(value), "{redacted}");
    }
}

#[test]
fn secret_patterns_are_redacted() {
    let redactor = Redactor::default();
    for (text, expected) in [
        ("use ghp_abcdefghij0123456789 now", "use [redacted] now"),
        ("github_pat_11AAAAAAA0123456789_x.", "[redacted]."),
        ("key sk-proj-abcDEF123456789", "key [redacted]"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"),
        ("authorization: bearer  x", "authorization: bearer  [redacted]"),
        ("?access_token=abc&x=1", "?access_token=[redacted]&x=1"),
        ("CLIENT_SECRET=abc def", "CLIENT_SECRET=[redacted] def"),
        ("api_key='a b' x", "api_key='[redacted]' x"),
        ("apikey=abc,password=\"q\\\"r\"", "apikey=[redacted],password=\"[redacted]\""),
        (r#"{"access_token": "abc", "n": 1}"#, r#"{"access_token": "[redacted]", "n": 1}"#),
        (r#"{"client_secret":"a\"b"}"#, r#"{"client_secret":"[redacted]"}"#),
        ("key=ü&x", "key=[redacted]&x"),
    ] {
        assert_eq!(redactor.redact(text), expected);
    }
}

#[test]
fn ordinary_text_is_unchanged() {
    let redactor = redactor(&[("A", "unseen-value")]);
    for text in [
        "",
        "the disk-usage of task-force and risk-management-systems",
        "missing Bearer token",
        "WWW-Authenticate: Bearer realm=\"x\", error=\"invalid_token\"",
        "Bearer resource_metadata=\"https://example.com/x\"",
        "monkey=banana",
        "token= and secret=",
        "ghp_short",
        "{\"access_token\": 5}",
        "{\"nextPageToken\": \"abc\"}",
    ] {
        assert!(
            matches!(redactor.redact(text), Cow::Borrowed(_)),
            "{text}: {}",
            redactor.redact(text)
        );
    }
}

#[test]
fn a_label_is_not_redacted_again() {
    let redactor = redactor(&[("TOKEN", "abcdefgh")]);
    assert_eq!(redactor.redact("token=abcdefgh"), "token=[redacted:TOKEN]");
    assert_eq!(redactor.redact("Bearer abcdefgh"), "Bearer [redacted:TOKEN]");
}

fn redact_bytes(redactor: &Redactor, bytes: &[u8]) -> Vec<u8> {
    redactor.known.load().redacted(bytes, Patterns::Included).unwrap_or_else(|| bytes.to_vec())
}

#[test]
fn binary_data_is_redacted() {
    let redactor = Redactor::default();
    redactor.add_secrets([("A".to_owned(), "abcdefgh".to_owned())]);
    redactor.add_secrets([("B".to_owned(), "abcdefgh".to_owned())]);
    assert_eq!(redact_bytes(&redactor, b"\xFFabcdefgh\xFE"), b"\xFF[redacted:A]\xFE");
    assert_eq!(redact_bytes(&redactor, b"\xFF"), b"\xFF");
}

#[test]
fn debug_output_of_a_redactor_contains_no_secret() {
    assert_eq!(format!("{:?}", redactor(&[("A", "abcdefgh")])), "Redactor { known: 1, .. }");
}

#[test]
fn redaction_of_large_text_is_fast() {
    let known = (0..500).map(|at| (format!("L{at}"), format!("secret-value-{at:04}")));
    let redactor = Redactor::new(known);
    let text = "an ordinary line, secret-value-0123 in it\n".repeat(50_000);
    let started = std::time::Instant::now();
    let redacted = redactor.redact(&text);
    assert!(!redacted.contains("secret-value"));
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn no_known_secret_survives_redaction(
        values in prop::collection::vec(prop_oneof!["\\PC{1,12}", "[\\]\\[a-e:]{4,8}", "[redact:L]{4}"], 1..5),
        pieces in prop::collection::vec((".{0,6}", any::<prop::sample::Index>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let redactor = Redactor::new(values.iter().map(|value| ("L".to_owned(), value.clone())));
        let mut text = String::new();
        for (around, which) in &pieces {
            text.push_str(around);
            let value = which.get(&values);
            text.push_str(value);
            text.extend(value.chars().take(cut.index(value.len())));
        }
        let redacted = redactor.redact(&text);
        for value in values.iter().filter(|value| value.len() >= MIN_SECRET_BYTES) {
            prop_assert!(!redacted.contains(value.as_str()), "{:?} in {:?}", value, redacted);
        }
        prop_assert_eq!(redacted.as_bytes(), redact_bytes(&redactor, text.as_bytes()));
    }
}

#[test]
fn references_to_secrets_are_not_redacted() {
    let redactor = Redactor::default();
    for text in [
        "api_key=${X}", "--token='${MY.X}' y", "Authorization: Bearer ${TOKEN}",
        r#"{"password": "${P}"}"#, "https://x/?key=${K}&b=1",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
    assert_eq!(redactor.redact("token='${X}abc'"), "token='[redacted]'");
    assert_eq!(redactor.redact("token=$abc"), "token=[redacted]");
}

/// A token is what a peer makes it: one that repeats itself must not cost us minutes.
#[test]
fn long_secrets_are_redacted_completely_and_quickly() {
    let numbers: Vec<String> = (0..9000).map(|number: u32| number.to_string()).collect();
    let long = numbers.join("-");
    for value in ["x".repeat(128 * 1024), long] {
        let redactor = Redactor::new([("token".to_owned(), value.clone())]);
        assert_eq!(redactor.redact_known(&format!("a {value} b")), "a [redacted:token] b");
        let half = &value[..value.len() / 2];
        assert!(!redactor.redact_known(half).contains(&value[..2 * MAX_PIECE_BYTES]));
    }
}
