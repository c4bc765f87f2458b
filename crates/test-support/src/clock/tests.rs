//! Tests of `clock`.

use super::*;

#[test]
fn child_processes_see_the_shifted_clock() {
    let clock = MovableClock::new();
    let year = || {
        let run = Command::new("date").arg("+%Y").envs(clock.variables()).output().unwrap();
        String::from_utf8(run.stdout).unwrap().trim().parse::<i64>().unwrap()
    };
    let now = year();
    clock.set(10 * 366 * 24 * 3600);
    assert_eq!(year() - now, 10);
}
