//! Tests of `oauth`.

use super::*;

#[test]
fn only_some_oauth_errors_require_a_new_sign_in() {
    let kind = |status, code: &str| {
        Error::Refused { status, code: code.to_owned(), description: None }.kind()
    };
    for code in ENDS_SIGN_IN {
        assert_eq!(kind(400, code), ErrorKind::SignIn, "{code}");
    }
    for code in ["temporarily_unavailable", "server_error", "slow_down", "", "Invalid_Grant"] {
        for status in [200, 400, 401, 403] {
            assert_eq!(kind(status, code), ErrorKind::Transient, "{code}");
        }
    }
}
