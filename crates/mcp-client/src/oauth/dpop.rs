//! `DPoP` (RFC 9449): proofs of possession for tokens that are bound to a key.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Uri;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::pkce::random_token;
use crate::url::origin;

pub(crate) const ALGORITHM: &str = "ES256";
const MAX_NONCE_BYTES: usize = 1024;

/// A key, and the last nonce of each audience.
pub(crate) struct DpopKey {
    pair: EcdsaKeyPair,
    document: Vec<u8>,
    nonces: Mutex<Nonces>,
}

#[derive(Default)]
struct Nonces {
    token_endpoint: Option<String>,
    server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofAudience {
    TokenEndpoint,
    Server,
}

impl DpopKey {
    pub(crate) fn generate() -> Option<Self> {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).ok()?;
        Self::read(document.as_ref())
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::read(&URL_SAFE_NO_PAD.decode(text).ok()?)
    }

    pub(crate) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.document)
    }

    fn read(document: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document, &random).ok()?;
        Some(Self { pair, document: document.to_vec(), nonces: Mutex::default() })
    }

    /// A proof for one request, bound to its access token if it carries one.
    pub(crate) fn proof(
        &self,
        side: ProofAudience,
        method: &str,
        address: &Uri,
        token: Option<&str>,
    ) -> Option<String> {
        let mut claims = json!({
            "jti": random_token().ok()?,
            "htm": method,
            "htu": format!("{}{}", origin(address), address.path()),
            "iat": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        });
        if let Some(token) = token {
            claims["ath"] = json!(URL_SAFE_NO_PAD.encode(Sha256::digest(token)));
        }
        if let Some(nonce) = self.nonce(side) {
            claims["nonce"] = json!(nonce);
        }
        let header = json!({ "typ": "dpop+jwt", "alg": ALGORITHM, "jwk": self.public() });
        self.sign(&header, &claims)
    }

    pub(crate) fn store_nonce(&self, side: ProofAudience, nonce: &str) {
        if nonce.is_empty() || nonce.len() > MAX_NONCE_BYTES {
            return;
        }
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        *nonces.of(side) = Some(nonce.to_owned());
    }

    fn nonce(&self, side: ProofAudience) -> Option<String> {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner).of(side).clone()
    }

    fn public(&self) -> Value {
        // An uncompressed point: a type byte, then both coordinates.
        let point = self.pair.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
        let coordinate = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "kty": "EC", "crv": "P-256", "x": coordinate(x), "y": coordinate(y) })
    }

    fn sign(&self, header: &Value, claims: &Value) -> Option<String> {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

impl Nonces {
    fn of(&mut self, side: ProofAudience) -> &mut Option<String> {
        match side {
            ProofAudience::TokenEndpoint => &mut self.token_endpoint,
            ProofAudience::Server => &mut self.server,
        }
    }
}

impl fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    fn part(proof: &str, index: usize) -> Value {
        let text = proof.split('.').nth(index).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_names_the_request_and_verifies_with_the_key_it_carries() {
        let key = DpopKey::generate().unwrap();
        let address: Uri = "https://A.example:443/token?x=1".parse().unwrap();
        let proof =
            key.proof(ProofAudience::TokenEndpoint, "POST", &address, Some("secret")).unwrap();
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
    fn a_kept_key_is_the_same_and_each_side_has_its_own_nonce() {
        let key = DpopKey::generate().unwrap();
        let again = DpopKey::from_text(&key.to_text()).unwrap();
        assert_eq!(again.public(), key.public());
        key.store_nonce(ProofAudience::Server, "n1");
        let address: Uri = "https://a.example/".parse().unwrap();
        let nonce =
            |side| part(&key.proof(side, "GET", &address, None).unwrap(), 1)["nonce"].clone();
        assert_eq!(nonce(ProofAudience::Server), "n1");
        assert_eq!(nonce(ProofAudience::TokenEndpoint), Value::Null);
        key.store_nonce(ProofAudience::Server, &"x".repeat(MAX_NONCE_BYTES + 1));
        assert_eq!(nonce(ProofAudience::Server), "n1");
    }
}
