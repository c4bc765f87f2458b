//! Tests of `pkce`.

use super::*;

#[test]
fn pkce_challenge_matches_rfc_7636() {
    // RFC 7636, appendix B.
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

#[test]
fn random_tokens_are_long_and_unique() {
    let (one, other) = (random_token().unwrap(), random_token().unwrap());
    assert_eq!(one.len(), 43);
    assert_ne!(one, other);
}
