//! Tests of `sign_in_state`.

use super::*;

fn grant(expires_at: Option<u64>, renewable: bool) -> Grant {
    Grant {
        issuer: "https://a.example".to_owned(),
        client_id: "c".to_owned(),
        scope: None,
        requested: None,
        expires_at,
        obtained_at: 0,
        renewable,
        bound: false,
    }
}

#[test]
fn token_expiry_is_shown_with_the_next_step() {
    let told = |end, renewable| expiry(&grant(end, renewable), 10_000);
    assert_eq!(told(Some(10_000 + 52 * 60), false), "in 52 minutes");
    assert_eq!(told(Some(10_000 + 3600), true), "in 60 minutes, renewed automatically");
    assert_eq!(told(Some(10_000 - 180), true), "expired 3 minutes ago, renewed automatically");
    assert_eq!(told(Some(10_000), false), "expired 0 seconds ago; sign in again");
    assert_eq!(told(None, true), "unknown");
}
