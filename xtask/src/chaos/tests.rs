//! Tests of `chaos`.

use super::*;

#[test]
fn minutes_come_first_and_options_are_passed_on() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(parse(&words("20 --kills 1000")).unwrap(), (20, &words("--kills 1000")[..]));
    assert_eq!(parse(&words("--seed 7")).unwrap(), (DEFAULT_MINUTES, &words("--seed 7")[..]));
    assert_eq!(parse(&words("soon")).unwrap_err().exit_code(), 2);
}
