//! Tests of `secret`.

use super::*;

#[test]
fn a_secret_shows_nothing_of_itself() {
    let secret = Secret::new("s3cret");
    assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret Some(Secret)");
    assert_eq!(secret.reveal(), "s3cret");
}
