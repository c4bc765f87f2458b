//! Proofs of possession: a bound token cannot be used without its key.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::manual_login::{EndpointAnswer, ManualClient, call_tool, try_send};
use crate::oauth::{Dpop, Oidc, OidcOptions, SignInResult, visit};

struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Key {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { pair, random }
    }

    fn proof(&self, method: &str, url: &str, more: &Value) -> String {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) });
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": jwk });
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut claims = json!({ "htm": method, "htu": url, "iat": now.as_secs(),
            "jti": now.as_nanos().to_string() });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (header, claims) = (header.to_string(), claims.to_string());
        let signed = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
        let signature = self.pair.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature.as_ref()))
    }

    fn exchange(
        &self,
        oauth: &ManualClient,
        landed: &SignInResult,
        more: &Value,
    ) -> EndpointAnswer {
        let proof = self.proof("POST", oauth.at("token_endpoint"), more);
        oauth.exchange_with(landed, &[("dpop", &proof)])
    }

    fn call(&self, url: &str, token: &str) -> u16 {
        let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(token));
        let proof = self.proof("POST", url, &json!({ "ath": digest }));
        let authorization = format!("DPoP {token}");
        let headers = [("authorization", authorization.as_str()), ("dpop", &proof)];
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        try_send("POST", url, &headers, &ping).unwrap().status
    }
}

#[test]
fn bound_token_requires_its_key() {
    let server = Oidc::start(&OidcOptions { dpop: Dpop::On, ..OidcOptions::default() });
    let oauth = ManualClient::registered(server.mcp_url());
    let key = Key::new();
    let landed = visit(&oauth.authorization("mcp:read"));
    let answer = key.exchange(&oauth, &landed, &json!({})).json();
    assert_eq!(answer["token_type"], "DPoP", "{answer}");
    let access = answer["access_token"].as_str().unwrap();
    assert_eq!(key.call(server.mcp_url(), access), 200);
    assert_eq!(Key::new().call(server.mcp_url(), access), 401);
    assert_eq!(call_tool(server.mcp_url(), access, "echo").status, 401);
    let refresh = answer["refresh_token"].as_str().unwrap();
    assert_eq!(oauth.refresh(refresh).error(), "invalid_grant");
}

#[test]
fn proof_requires_a_nonce_if_configured() {
    let server = Oidc::start(&OidcOptions { dpop: Dpop::Nonce, ..OidcOptions::default() });
    let oauth = ManualClient::registered(server.mcp_url());
    let key = Key::new();
    let landed = visit(&oauth.authorization("mcp:read"));
    let refused = key.exchange(&oauth, &landed, &json!({}));
    assert_eq!((refused.status, refused.error().as_str()), (400, "use_dpop_nonce"));
    let nonce = refused.headers["dpop-nonce"].to_str().unwrap();
    let answer = key.exchange(&oauth, &landed, &json!({ "nonce": nonce })).json();
    let access = answer["access_token"].as_str().unwrap();
    assert_eq!(key.call(server.mcp_url(), access), 200);
}
