//! Tests of `web_services`.

use super::*;

const KEY: LineageId = LineageId(7);

fn late() -> Result<(), Fault> {
    Err(Fault::Late("total time limit exceeded"))
}

#[test]
fn only_timeouts_and_overruns_count_against_the_limit() {
    let timeouts = Timeouts::new(2);
    for _ in 0..10 {
        let _ = timeouts.begin(KEY).unwrap().end(Err::<(), _>(Fault::Status(404)));
        assert!(timeouts.begin(KEY).unwrap().end(Ok(())).is_ok());
        // Left at once.
        drop(timeouts.begin(KEY).unwrap());
    }
    let _ = timeouts.begin(KEY).unwrap().end(late());
    let _ = timeouts.begin(KEY).unwrap().end(Err::<(), _>(Fault::Overrun("is too much")));
    assert!(matches!(timeouts.begin(KEY), Err(Fault::TooManyTimeouts(_))));
    assert!(timeouts.begin(LineageId(8)).is_ok(), "another key has its own limit");
}

#[test]
fn running_fetches_count_until_they_end() {
    let timeouts = Timeouts::new(2);
    let first = timeouts.begin(KEY).unwrap();
    let second = timeouts.begin(KEY).unwrap();
    assert!(timeouts.begin(KEY).is_err());
    first.end(Ok(())).unwrap();
    let third = timeouts.begin(KEY).unwrap();
    assert!(timeouts.begin(KEY).is_err());
    drop((second, third));
}

#[test]
fn an_abandoned_slow_fetch_counts_for_a_minute() {
    let timeouts = Timeouts::new(1);
    let mut left = timeouts.begin(KEY).unwrap();
    left.begun = left.begun.checked_sub(MIN_WASTED).unwrap();
    drop(left);
    assert!(timeouts.begin(KEY).is_err());
    let ago = Instant::now().checked_sub(WINDOW).unwrap();
    timeouts.keys.lock().unwrap().get_mut(&KEY).unwrap().begun = ago;
    assert!(timeouts.begin(KEY).is_ok());
}

#[test]
fn keys_without_timeouts_are_evicted() {
    let timeouts = Timeouts::new(3);
    let _ = timeouts.begin(LineageId(-1)).unwrap().end(late());
    for number in 0..2 * i64::try_from(MAX_KEYS).unwrap() {
        drop(timeouts.begin(LineageId(number)).unwrap());
    }
    let keys = timeouts.keys.lock().unwrap();
    assert!(keys.len() <= MAX_KEYS && keys.contains_key(&LineageId(-1)));
}
