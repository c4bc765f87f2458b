//! Client assertions: JSON Web Tokens that authenticate a client (RFC 7523).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::pkce::random_token;
use crate::error::oauth::Error;

const LIFETIME_SECONDS: u64 = 60;

pub(crate) enum SigningKey {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Parses an unencrypted PEM file: PKCS#8, or PKCS#1 for RSA.
    pub(crate) fn read(pem: &[u8]) -> Result<Self, &'static str> {
        let key =
            PrivateKeyDer::from_pem_slice(pem).map_err(|_| "it contains no PEM private key")?;
        let random = SystemRandom::new();
        let document = key.secret_der();
        let pair = match &key {
            PrivateKeyDer::Pkcs1(_) => RsaKeyPair::from_der(document).map(Self::Rsa).ok(),
            PrivateKeyDer::Pkcs8(_) => {
                let curve = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, document, &random).ok();
                curve(&ECDSA_P256_SHA256_FIXED_SIGNING)
                    .map(Self::P256)
                    .or_else(|| curve(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Self::P384))
                    .or_else(|| {
                        Ed25519KeyPair::from_pkcs8_maybe_unchecked(document).map(Self::Ed25519).ok()
                    })
                    .or_else(|| RsaKeyPair::from_pkcs8(document).map(Self::Rsa).ok())
            }
            _ => None,
        };
        pair.ok_or("unsupported key type: use P-256, P-384, Ed25519 or RSA in PKCS#8")
    }

    pub(crate) fn client_assertion(&self, client: &str, audience: &str) -> Result<String, Error> {
        let now = unix_seconds();
        let cannot = || Error::Assertion { reason: "cannot sign with the client's key".to_owned() };
        let claims = json!({
            "iss": client,
            "sub": client,
            "aud": audience,
            "jti": random_token().map_err(|_| cannot())?,
            "iat": now,
            "exp": now + LIFETIME_SECONDS,
        });
        self.sign(&claims).ok_or_else(cannot)
    }

    fn sign(&self, claims: &Value) -> Option<String> {
        let algorithm = match self {
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Ed25519(_) => "EdDSA",
            Self::Rsa(_) => "RS256",
        };
        let random = SystemRandom::new();
        json_web_token(&json!({ "typ": "JWT", "alg": algorithm }), claims, |bytes| {
            Some(match self {
                Self::P256(pair) | Self::P384(pair) => {
                    pair.sign(&random, bytes).ok()?.as_ref().to_vec()
                }
                Self::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
                Self::Rsa(pair) => {
                    let mut signature = vec![0; pair.public().modulus_len()];
                    pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).ok()?;
                    signature
                }
            })
        })
    }
}

pub(super) fn json_web_token(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Option<String> {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = sign(signed.as_bytes())?;
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

#[cfg(test)]
mod tests;
