//! Tests of `secret`.

use super::*;

#[test]
fn debug_output_of_a_secret_is_redacted() {
    let secret = Secret::new("s3cret");
    assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret Some(Secret)");
    assert_eq!(secret.reveal(), "s3cret");
}
