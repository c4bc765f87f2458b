//! Tests of `budget`.

use super::*;

const DAY: i64 = 100;

fn windows(now: i64) -> Windows {
    let window = |length: i64| {
        let start = now.div_euclid(length) * length;
        Window { start: Time::from_micros(start), end: Time::from_micros(start + length) }
    };
    Windows { day: window(DAY), week: window(7 * DAY), month: window(30 * DAY) }
}

fn used(start: i64, charged: i64, held: i64) -> BudgetUse {
    let (charged, held) = (Micros::new(charged), Micros::new(held));
    BudgetUse { start: Time::from_micros(start), charged, held }
}

#[test]
fn use_resets_with_the_next_window_and_not_before() {
    let last = used(200, 7, 2);
    assert_eq!(last.at(windows(299).day), last);
    assert_eq!(last.at(windows(300).day), used(300, 0, 0));
    assert_eq!(last.at(windows(300).month), last, "a month is longer");
}

#[test]
fn use_survives_a_clock_that_is_set_back() {
    let last = used(200, 7, 2);
    assert_eq!(last.at(windows(150).day), last);
}

#[test]
fn status_reports_what_is_left_and_when_it_resets() {
    let budget = Budget { amount: Micros::new(10), period: Period::Day };
    let scope = BudgetScope::Member(MemberId(1));
    let status = BudgetStatus::new(scope, budget, used(200, 5, 2), &windows(250));
    assert_eq!((status.left(), status.percent_used()), (Micros::new(3), 70));
    assert_eq!(status.resets_at, Time::from_micros(300));
    assert_eq!(status.reserve(Micros::new(3)).map(|after| after.left()), Some(Micros::ZERO));
    assert_eq!(status.reserve(Micros::new(4)), None);
}

#[test]
fn a_lowered_budget_has_nothing_left() {
    let budget = Budget { amount: Micros::new(4), period: Period::Day };
    let scope = BudgetScope::Key(LineageId(1));
    let status = BudgetStatus::new(scope, budget, used(0, 8, 0), &windows(0));
    assert_eq!((status.left(), status.percent_used()), (Micros::ZERO, 200));
    let nothing = Budget { amount: Micros::ZERO, ..budget };
    assert_eq!(BudgetStatus { budget: nothing, ..status }.percent_used(), 100);
}

#[test]
fn a_budget_is_within_one_that_is_larger_and_resets_as_often() {
    let budget = |amount, period| Budget { amount: Micros::new(amount), period };
    assert!(budget(5, Period::Week).is_within(budget(5, Period::Day)));
    assert!(!budget(5, Period::Day).is_within(budget(5, Period::Week)));
    assert!(!budget(6, Period::Week).is_within(budget(5, Period::Week)));
}
