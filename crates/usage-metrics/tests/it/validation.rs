//! Violations are reported with position, rule and suggestion.

use usage_metrics::validate::{
    Allowed, MAX_DEPTH, MAX_FOUND_CHARS, Problem, Verdict, Violation, validate, validate_with,
};

/// A valid package to change.
const GOOD: &str = r#"{
  "generated_at": "2026-07-28T12:00:00Z",
  "install_id": "6ba7b811-9dad-41d1-80b4-00c04fd430c8",
  "metrics": [
    {
      "dimensions": {"attribution": "tool_call", "outcome": "approved"},
      "name": "agent.tool_approval.count",
      "type": "counter",
      "value": 3
    }
  ],
  "package_id": "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
  "period_end": "2026-07-29T00:00:00Z",
  "period_start": "2026-07-28T00:00:00Z",
  "resource": {"agent_version": "1", "architecture": "x86_64", "install_method": "git", "os_family": "linux"},
  "schema_version": "agent.shared_metrics.v2"
}"#;

fn spoilt(from: &str, to: &str) -> Verdict {
    assert!(GOOD.contains(from), "{from}");
    validate(GOOD.replacen(from, to, 1).as_bytes())
}

fn only(verdict: Verdict) -> Violation {
    assert_eq!(verdict.violations.len(), 1, "{:?}", verdict.violations);
    assert_eq!(verdict.total, 1);
    verdict.violations.into_iter().next().unwrap()
}

#[test]
fn valid_package_has_no_violation() {
    let verdict = validate(GOOD.as_bytes());
    assert_eq!(verdict.violations, []);
    assert_eq!((verdict.is_valid(), verdict.entries), (true, 1));
}

#[test]
fn invalid_value_is_reported_with_position_rule_and_suggestion() {
    let violation = only(spoilt("\"approved\"", "\"aproved\""));
    assert_eq!(violation.code, Problem::NotAllowed);
    assert_eq!(violation.pointer, "/metrics/0/dimensions/outcome");
    assert_eq!((violation.line, violation.column), (6, 61));
    assert_eq!(violation.found, "\"aproved\"");
    assert_eq!(violation.allowed, Allowed::Listed(&["approved", "denied", "timed_out", "unknown"]));
    assert_eq!(violation.nearest.as_deref(), Some("approved"));
    assert_eq!(
        violation.to_string(),
        "\"aproved\" is not allowed; allowed: approved, denied, timed_out, unknown; did you mean \
         `approved`?"
    );
}

#[test]
fn every_rule_reports_code_pointer_and_suggestion() {
    #[rustfmt::skip]
    let rows: &[(&str, &str, Problem, &str, Option<&str>)] = &[
        ("agent.shared_metrics.v2", "agent.shared_metrics.v1", Problem::NotAllowed, "/schema_version", Some("agent.shared_metrics.v2")),
        ("6ba7b810-9dad-41d1", "6BA7B810-9dad-41d1", Problem::BadUuid, "/package_id", Some("6ba7b810-9dad-41d1-80b4-00c04fd430c8")),
        ("6ba7b810-9dad-41d1", "6ba7b810-9dad-71d1", Problem::BadUuid, "/package_id", None),
        ("6ba7b811-9dad-41d1-80b4", "6ba7b811-9dad-41d1-c0b4", Problem::BadUuid, "/install_id", None),
        ("2026-07-29T00:00:00Z", "2026-07-29", Problem::BadDateTime, "/period_end", Some("2026-07-29T00:00:00Z")),
        ("2026-07-29T00:00:00Z", "2026-07-29 00:00:00Z", Problem::BadDateTime, "/period_end", Some("2026-07-29T00:00:00Z")),
        ("2026-07-29T00:00:00Z", "2026-07-29T00:00:00+0000", Problem::BadDateTime, "/period_end", Some("2026-07-29T00:00:00+00:00")),
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:00", Problem::BadDateTime, "/generated_at", Some("2026-07-28T12:00:00Z")),
        ("2026-07-28T12:00:00Z", "2026-07-28T12:00:00Z\\n", Problem::BadDateTime, "/generated_at", Some("2026-07-28T12:00:00Z")),
        ("2026-07-28T12:00:00Z", "2026-02-30T12:00:00Z", Problem::BadDateTime, "/generated_at", None),
        ("\"x86_64\"", "\"amd64\"", Problem::NotAllowed, "/resource/architecture", None),
        ("\"linux\"", "\"Linux\"", Problem::NotAllowed, "/resource/os_family", Some("linux")),
        ("\"git\"", "7", Problem::WrongType, "/resource/install_method", None),
        ("\"agent_version\": \"1\"", "\"agent_version\": \"\"", Problem::BadLength, "/resource/agent_version", None),
        ("\"counter\"", "\"gauge\"", Problem::NotAllowed, "/metrics/0/type", None),
        ("agent.tool_approval.count", "agent.tool-approval.count", Problem::NotAllowed, "/metrics/0/name", Some("agent.tool_approval.count")),
        ("\"value\": 3", "\"value\": 0", Problem::BadValue, "/metrics/0/value", Some("1")),
        ("\"value\": 3", "\"value\": -1", Problem::BadValue, "/metrics/0/value", Some("1")),
        ("\"value\": 3", "\"value\": 1.5", Problem::BadValue, "/metrics/0/value", Some("1")),
        ("\"value\": 3", "\"value\": 1e400", Problem::BadValue, "/metrics/0/value", None),
        ("\"value\": 3", "\"value\": 1.8e308", Problem::BadValue, "/metrics/0/value", None),
        ("\"value\": 3", "\"value\": \"3\"", Problem::WrongType, "/metrics/0/value", None),
        ("\"value\": 3", "\"value\": true", Problem::WrongType, "/metrics/0/value", None),
        ("\"value\": 3", "\"value\": null", Problem::WrongType, "/metrics/0/value", None),
        ("\"value\": 3", "\"value\": 3, \"unit\": \"1\"", Problem::UnknownField, "/metrics/0/unit", None),
        ("\"value\": 3", "\"value\": 3, \"value\": 3", Problem::DuplicateKey, "/metrics/0/value", None),
        ("\"value\": 3", "\"value\": 3, \"a/b~c\": {\"deep\": [1]}", Problem::UnknownField, "/metrics/0/a~1b~0c", None),
    ];
    for (from, to, code, pointer, nearest) in rows {
        let violation = only(spoilt(from, to));
        assert_eq!(violation.code, *code, "{to}: {violation}");
        assert_eq!(violation.pointer, *pointer, "{to}");
        assert_eq!(violation.nearest.as_deref(), *nearest, "{to}");
    }
}

#[test]
fn misspelt_key_is_unknown_and_missing() {
    let verdict = spoilt("\"attribution\"", "\"atribution\"");
    let told: Vec<_> = verdict
        .violations
        .iter()
        .map(|it| (it.code, it.pointer.as_str(), it.found.as_str(), it.nearest.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (Problem::MissingField, "/metrics/0/dimensions", "\"attribution\"", None),
            (
                Problem::UnknownField,
                "/metrics/0/dimensions/atribution",
                "\"atribution\"",
                Some("attribution")
            ),
        ]
    );
}

#[test]
fn violations_are_in_document_order() {
    let text = GOOD
        .replace("12:00:00Z", "12:00")
        .replace("\"approved\"", "\"no\"")
        .replace("\"value\": 3", "\"value\": 0")
        .replace("\"counter\"", "1")
        .replace("\"linux\"", "\"beos\"");
    let verdict = validate(text.as_bytes());
    let pointers: Vec<_> = verdict.violations.iter().map(|it| it.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/generated_at", "/metrics/0/dimensions/outcome", "/metrics/0/type",
            "/metrics/0/value", "/resource/os_family",
        ]
    );
    assert!(verdict.violations.is_sorted_by_key(|it| (it.line, it.column)));
}

#[test]
fn key_order_is_free_and_escapes_are_decoded() {
    for (from, to) in [
        // The name before its dimensions, and after.
        (
            "\"dimensions\": {\"attribution\": \"tool_call\", \"outcome\": \"approved\"},\n      \"name\": \"agent.tool_approval.count\",",
            "\"name\": \"agent.tool_approval.count\", \"dimensions\": {\"outcome\": \"approved\", \"attribution\": \"tool_call\"},",
        ),
        ("\"name\"", "\"n\\u0061me\""),
        ("\"approved\"", "\"\\u0061pproved\""),
        ("\"value\": 3", "\"value\": 3.0"),
        ("\"value\": 3", "\"value\": 300e-2"),
        ("\"value\": 3", "\"value\": 18446744073709551616"),
        ("\"value\": 3", "\"value\": 1000000000000000000000000000000"),
        ("\"agent_version\": \"1\"", "\"agent_version\": \" \""),
    ] {
        assert_eq!(spoilt(from, to).violations, [], "{to}");
    }
    let emoji = "😀".repeat(64);
    assert!(
        spoilt("\"agent_version\": \"1\"", &format!("\"agent_version\": \"{emoji}\"")).is_valid()
    );
    let combined = "e\u{301}".repeat(33);
    let verdict = spoilt("\"agent_version\": \"1\"", &format!("\"agent_version\": \"{combined}\""));
    assert_eq!(only(verdict).code, Problem::BadLength);
}

#[test]
fn active_client_count_must_be_one() {
    let active = |value: &str| {
        let text = GOOD
            .replace("{\"attribution\": \"tool_call\", \"outcome\": \"approved\"}", "{}")
            .replace("agent.tool_approval.count", "agent.client.active")
            .replace("\"value\": 3", &format!("\"value\": {value}"));
        validate(text.as_bytes())
    };
    for one in ["1", "1.0", "1e0"] {
        assert!(active(one).is_valid(), "{one}");
    }
    for other in ["2", "0", "1.5", "10"] {
        let violation = only(active(other));
        assert_eq!(
            (violation.code, violation.allowed),
            (Problem::BadValue, Allowed::Rule("exactly 1"))
        );
    }
}

#[test]
fn syntax_error_is_reported_with_its_position() {
    #[rustfmt::skip]
    let rows: &[(&[u8], &str, (usize, usize))] = &[
        (b"", "the document is empty", (1, 1)),
        (b" \n ", "the document is empty", (2, 2)),
        (b"{\n  \"a\": 1", "the document ends early", (2, 9)),
        (b"{\"a\": 1,}", "found `}`, expected a quoted key", (1, 9)),
        (b"{} x", "`x` after the end of the document", (1, 4)),
        (b"{} {}", "`{` after the end of the document", (1, 4)),
        (b"{\"a\": \"\x01\"}", "unescaped control character `\\u{1}` in a string", (1, 8)),
        (b"{\"a\": \"\\x\"}", "invalid escape sequence", (1, 8)),
        (b"{\"a\": \"\\ud800\"}", "unpaired surrogate", (1, 8)),
        (b"{\"a\": \"\\udc00\"}", "unpaired surrogate", (1, 8)),
        (b"{\"a\": 01}", "found `1`, expected `,` or `}`", (1, 8)),
        (b"{\"a\": 1.}", "`}` in a number", (1, 9)),
        (b"{\"a\": NaN}", "found `N`, expected a value", (1, 7)),
        (b"{\"a\": \"\xff\"}", "invalid UTF-8 byte 0xff", (1, 8)),
        (b"{\"\xc3\xa9\": \"\xff\"}", "invalid UTF-8 byte 0xff", (1, 8)),
        (b"\xef\xbb\xbf{}", "the document starts with a byte order mark", (1, 1)),
    ];
    for (bytes, found, place) in rows {
        let verdict = validate(bytes);
        let told = verdict
            .violations
            .iter()
            .find(|it| matches!(it.code, Problem::Syntax | Problem::Encoding))
            .unwrap_or_else(|| panic!("{bytes:?}: {:?}", verdict.violations));
        assert_eq!(told.found, *found, "{bytes:?}");
        assert_eq!((told.line, told.column), *place, "{bytes:?}");
    }
}

#[test]
fn nesting_is_checked_up_to_its_limit() {
    let nested = |levels: usize| format!("{{\"x\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
    let depth = usize::try_from(MAX_DEPTH).unwrap();
    let deep = |verdict: &Verdict| verdict.violations.iter().any(|it| it.found.contains("levels"));
    assert!(!deep(&validate(nested(depth).as_bytes())));
    assert!(deep(&validate(nested(depth + 1).as_bytes())));
    let endless = validate("[".repeat(1_000_000).as_bytes());
    assert!(deep(&endless));
    assert_eq!(endless.violations.last().map(|it| it.column), Some(depth + 1));
}

#[test]
fn violations_beyond_the_limit_are_only_counted() {
    let entries = vec!["0"; 5_000].join(",");
    let text = format!("{{\"metrics\": [{entries}]}}");
    let verdict = validate_with(text.as_bytes(), 100);
    assert_eq!(verdict.violations.len(), 100);
    // Each entry, and the seven missing fields.
    assert_eq!((verdict.total, verdict.entries), (5_007, 5_000));
}

#[test]
fn excerpts_are_bounded() {
    let long = "x".repeat(1_000_000);
    let violation = only(spoilt("\"approved\"", &format!("\"{long}\"")));
    assert_eq!(violation.found.chars().count(), MAX_FOUND_CHARS + 3);
    assert_eq!(violation.nearest, None);
}
