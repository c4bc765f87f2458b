//! Tests of `key_bounds`.

use gateway_store::Key;
use ledger::{LineageId, MemberId, Micros, Period, Time};

use super::*;

fn record(lineage: i64, change: impl FnOnce(&mut KeyRecord)) -> KeyRecord {
    let key = Key {
        id: lineage.to_string(),
        hash: [0; 32],
        member: MemberId(1),
        lineage: LineageId(lineage),
        name: String::new(),
        scopes: Scope::ALL.to_vec(),
        models: None,
        created_at: Time::from_micros(0),
        expires_at: None,
        revoked_at: None,
    };
    let limits = Limits::default();
    let mut record = KeyRecord {
        key,
        limits,
        member_name: String::new(),
        member_blocked: false,
        role: gateway_store::Role::Member,
        team: None,
    };
    change(&mut record);
    record
}

#[test]
fn a_key_manages_only_keys_within_its_own_rights() {
    let full = record(1, |_| {});
    let narrow = record(2, |record| record.key.scopes = vec![Scope::Chat]);
    let of_model = record(3, |record| record.key.models = Some(vec!["a/b".to_owned()]));
    let limited = record(4, |record| record.limits.spend = Some(Micros::new(5)));
    let day = Budget { amount: Micros::new(5), period: Period::Day };
    let budgeted = record(7, |record| record.limits.budget = Some(day));
    let slow = record(5, |record| record.limits.requests_per_minute = Some(5));
    let foreign = record(6, |record| record.key.member = MemberId(2));
    for other in [&narrow, &of_model, &limited, &slow, &budgeted] {
        assert!(covers(&full, other), "{other:?}");
        assert!(!covers(other, &full), "{other:?}");
        assert!(covers(other, other), "{other:?}");
    }
    assert!(!covers(&full, &foreign));
    assert!(no_new_keys(&budgeted).is_some());
    assert!(no_new_keys(&limited).is_some() && no_new_keys(&full).is_none());
}

#[test]
fn limits_cannot_exceed_the_maximum_or_current_value() {
    let spend = |micros| Limits { spend: Some(Micros::new(micros)), ..Limits::default() };
    let most = spend(10);
    assert_eq!(exceeded(spend(10), most, most), None);
    assert_eq!(exceeded(spend(11), most, most), Some("spend"));
    assert_eq!(exceeded(spend(11), most, spend(20)), None);
    assert_eq!(exceeded(Limits::default(), most, most), Some("spend"));
    assert_eq!(filled(Limits::default(), most), most);
    let rate = Limits { requests_per_minute: Some(9), ..Limits::default() };
    assert_eq!(exceeded(rate, Limits::default(), Limits::default()), None);
    let own = record(1, |record| record.limits.requests_per_minute = Some(3));
    let configured = NewKeys { requests_per_minute: Some(8), ..NewKeys::default() };
    assert_eq!(super::most(&own, &configured).requests_per_minute, Some(3));
}

#[test]
fn budgets_cannot_exceed_the_maximum_or_current_value() {
    let budget = |micros, period| Limits {
        budget: Some(Budget { amount: Micros::new(micros), period }),
        ..Limits::default()
    };
    let most = budget(10, Period::Day);
    assert_eq!(exceeded(budget(10, Period::Week), most, most), None);
    assert_eq!(exceeded(budget(11, Period::Week), most, most), Some("budget"));
    assert_eq!(exceeded(Limits::default(), most, most), Some("budget"));
    let week = budget(10, Period::Week);
    assert_eq!(exceeded(budget(10, Period::Day), week, week), Some("budget"));
    assert_eq!(exceeded(most, Limits::default(), Limits::default()), None);
}
