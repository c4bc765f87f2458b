//! Tests of `step`.

use super::*;

#[test]
fn step_names_with_numbers_are_parsed() {
    let ms = Duration::from_millis;
    assert_eq!(Step::named("slow-250"), Some(Step::Slow(ms(250))));
    assert_eq!(Step::named("drip-3-10"), Some(Step::Drip(3, ms(10))));
    assert_eq!(Step::named("cut-after-2"), Some(Step::CutAfter(2)));
    assert_eq!(Step::named("cut-after-head"), Some(Step::CutAfterHead));
    assert_eq!(Step::named("status-503"), Some(Step::Status(503)));
    assert_eq!(Step::named("retry-503-9"), Some(Step::RetryAfter(503, 9)));
    for wrong in ["status-200", "drip-3", "slow-", "chunks-x", "gpt-5", ""] {
        assert_eq!(Step::named(wrong), None, "{wrong}");
    }
}

#[test]
fn message_can_name_a_step_in_double_brackets() {
    assert_eq!(Step::marked("now [[hang]] please"), Some(Step::Hang));
    assert_eq!(Step::marked("now [[nothing]] please"), None);
    assert_eq!(Step::marked("hang"), None);
}
