//! Tests of `dpop`.

use super::*;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

fn part(proof: &str, index: usize) -> Value {
    let text = proof.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

#[test]
fn a_dpop_proof_names_the_request_and_verifies() {
    let key = DpopKey::generate().unwrap();
    let address: Uri = "https://A.example:443/token?x=1".parse().unwrap();
    let proof = key.proof(ProofAudience::TokenEndpoint, "POST", &address, Some("secret")).unwrap();
    let (header, claims) = (part(&proof, 0), part(&proof, 1));
    assert_eq!(header["typ"], "dpop+jwt");
    assert_eq!(claims["htu"], "https://a.example/token");
    assert_eq!(claims["htm"], "POST");
    assert!(claims["ath"].is_string() && claims.get("nonce").is_none());
    let coordinate =
        |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let (signed, signature) = proof.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
}

#[test]
fn a_stored_key_round_trips_and_nonces_are_per_audience() {
    let key = DpopKey::generate().unwrap();
    let again = DpopKey::from_text(&key.to_text()).unwrap();
    assert_eq!(again.public(), key.public());
    key.store_nonce(ProofAudience::Server, "n1");
    let address: Uri = "https://a.example/".parse().unwrap();
    let nonce = |side| part(&key.proof(side, "GET", &address, None).unwrap(), 1)["nonce"].clone();
    assert_eq!(nonce(ProofAudience::Server), "n1");
    assert_eq!(nonce(ProofAudience::TokenEndpoint), Value::Null);
    key.store_nonce(ProofAudience::Server, &"x".repeat(MAX_NONCE_BYTES + 1));
    assert_eq!(nonce(ProofAudience::Server), "n1");
}
