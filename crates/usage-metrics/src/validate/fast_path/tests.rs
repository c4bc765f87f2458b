//! Tests of `fast_path`.

#[test]
fn padding_never_matches_text() {
    let entry = |value: &str| {
        format!(
            "{{\"dimensions\":{{\"attribution\":\"tool_call\",\"outcome\":\"{value}\"}},\
                 \"name\":\"agent.tool_approval.count\",\"type\":\"counter\",\"value\":1}}{}",
            " ".repeat(40)
        )
    };
    assert!(super::entry(entry("denied").as_bytes(), 0).is_some());
    for other in ["denied\0", "denied\0\0", "denie", "deniedd", "", "\\u0064enied"] {
        assert_eq!(super::entry(entry(other).as_bytes(), 0), None, "{other:?}");
    }
}
