//! PKCE (RFC 7636), and random tokens.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

use crate::error::oauth::Error;

const RANDOM_BYTES: usize = 32;

pub(crate) fn random_token() -> Result<String, Error> {
    let mut bytes = [0; RANDOM_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        let source = io::Error::other("the system provides no random bytes");
        Error::NoPort { source }
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

#[cfg(test)]
mod tests;
