//! Tests of `token`.

use super::*;

#[test]
fn csrf_tokens_are_bound_to_their_cookie() {
    let (token, other) = (Token::draw().unwrap(), Token::draw().unwrap());
    assert!(token.is_csrf(&token.csrf()));
    for wrong in ["", "0", "zz", "é1", &other.csrf(), &token.csrf()[2..]] {
        assert!(!token.is_csrf(wrong), "{wrong}");
    }
    assert_ne!(token.hash(), other.hash());
    assert_eq!(format!("{token:?}"), "Token(…)");
}
