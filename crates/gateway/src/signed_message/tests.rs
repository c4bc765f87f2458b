//! Tests of `signed_message`.

use super::*;

#[test]
fn a_standard_webhook_secret_is_decoded() {
    // The example of the standard.
    let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key_of(&secret));
    let content = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}";
    let signature = STANDARD.encode(hmac::sign(&key, content.as_bytes()));
    assert_eq!(signature, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_eq!(key_of(&Secret::new("plain")), b"plain");
    assert_eq!(key_of(&Secret::new("whsec_?")), b"whsec_?");
}

#[test]
fn retry_delays_grow_up_to_a_maximum() {
    let first = Duration::from_secs(5);
    let waits: Vec<u64> = (1..=6).map(|tries| wait_after(first, tries).as_secs()).collect();
    assert_eq!(waits, [5, 20, 80, 320, 1280, 5120]);
    assert_eq!(wait_after(first, 99), MAX_WAIT);
}
