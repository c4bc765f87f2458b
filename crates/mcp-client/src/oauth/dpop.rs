//! `DPoP` (RFC 9449): proofs of possession for tokens that are bound to a key.

use std::fmt;
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Uri;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::assertion::{json_web_token, unix_seconds};
use super::pkce::random_token;
use crate::sync::lock;
use crate::url::origin;

pub(crate) const ALGORITHM: &str = "ES256";
const MAX_NONCE_BYTES: usize = 1024;

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
            "iat": unix_seconds(),
        });
        if let Some(token) = token {
            claims["ath"] = json!(URL_SAFE_NO_PAD.encode(Sha256::digest(token)));
        }
        if let Some(nonce) = lock(&self.nonces).of(side).clone() {
            claims["nonce"] = json!(nonce);
        }
        let header = json!({ "typ": "dpop+jwt", "alg": ALGORITHM, "jwk": self.public() });
        json_web_token(&header, &claims, |bytes| {
            Some(self.pair.sign(&SystemRandom::new(), bytes).ok()?.as_ref().to_vec())
        })
    }

    pub(crate) fn store_nonce(&self, side: ProofAudience, nonce: &str) {
        if nonce.is_empty() || nonce.len() > MAX_NONCE_BYTES {
            return;
        }
        *lock(&self.nonces).of(side) = Some(nonce.to_owned());
    }

    fn public(&self) -> Value {
        // An uncompressed point: a type byte, then both coordinates.
        let point = self.pair.public_key().as_ref();
        let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
        let coordinate = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "kty": "EC", "crv": "P-256", "x": coordinate(x), "y": coordinate(y) })
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
mod tests;
