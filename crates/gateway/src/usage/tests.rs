//! Tests of `usage`.

use super::*;

const NOW: Time = Time::from_millis(1_794_960_000_000);

fn query(order: &UsageOrder) -> Result<UsageQuery, String> {
    order.query(NOW).map_err(|error| error.to_string())
}

fn order(from: &str, to: &str, by: &str) -> UsageOrder {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    UsageOrder { from: some(from), to: some(to), by: some(by), ..UsageOrder::default() }
}

#[test]
fn usage_defaults_to_the_last_thirty_days_by_day() {
    let query = query(&UsageOrder::default()).unwrap();
    assert_eq!(
        (day_text(query.from_day), day_text(query.to_day)),
        ("2026-10-20".into(), "2026-11-18".into())
    );
    assert_eq!((query.by, query.limit), (vec![UsageDimension::Day], DEFAULT_USAGE_LINES + 1));
}

#[test]
fn ranges_and_dimensions_are_parsed() {
    let query = query(&order("2024-02-29", "2024-03-01", "model, day,model")).unwrap();
    assert_eq!(query.to_day - query.from_day, 1);
    assert_eq!(query.by, [UsageDimension::Model, UsageDimension::Day]);
    assert_eq!(day("to", "1970-01-01").unwrap(), 0);
}

#[test]
fn invalid_usage_queries_name_the_field() {
    for (wrong, field) in [
        (order("2026-13-01", "", ""), "from"),
        (order("yesterday", "", ""), "from"),
        (order("", "2026-1-1", ""), "to"),
        (order("", "2026-W01-1", ""), "to"),
        (order("", "", "week"), "by"),
        (order("", "", "day,"), "by"),
        (UsageOrder { limit: Some(0), ..UsageOrder::default() }, "limit"),
        (UsageOrder { limit: Some(MAX_USAGE_LINES), ..UsageOrder::default() }, "limit"),
    ] {
        let error = query(&wrong).unwrap_err();
        assert!(error.starts_with(&format!("`{field}` must be ")), "{wrong:?}: {error}");
    }
}
