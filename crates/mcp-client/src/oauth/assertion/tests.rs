//! Tests of `assertion`.

use super::*;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, KeyPair, UnparsedPublicKey, VerificationAlgorithm,
};

fn verifies(statement: &str, algorithm: &'static dyn VerificationAlgorithm, key: &[u8]) -> Value {
    let (signed, signature) = statement.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(algorithm, key)
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
    let claims = signed.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

#[test]
fn a_client_assertion_verifies_and_is_short_lived() {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let key = SigningKey::read(pair.serialize_pem().as_bytes()).unwrap();
    let statement = key.client_assertion("me", "https://a.example").unwrap();
    let SigningKey::P256(own) = &key else { panic!("another curve") };
    let claims = verifies(&statement, &ECDSA_P256_SHA256_FIXED, own.public_key().as_ref());
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));
    assert_eq!(claims["aud"], "https://a.example");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), LIFETIME_SECONDS);
}

#[test]
fn ed25519_keys_sign_and_invalid_keys_are_rejected() {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let key = SigningKey::read(pair.serialize_pem().as_bytes()).unwrap();
    let SigningKey::Ed25519(own) = &key else { panic!("another kind") };
    verifies(&key.client_assertion("me", "a").unwrap(), &ED25519, own.public_key().as_ref());
    assert!(SigningKey::read(b"nothing").is_err());
    let bad = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert!(SigningKey::read(bad.as_bytes()).err().unwrap().contains("unsupported key type"));
}
