//! Random words, and the proof that who redeems a code is who asked for it (RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

/// Bytes of randomness in a word.
const RANDOM_BYTES: usize = 32;

/// A word nobody can guess.
pub(crate) fn random_word() -> std::io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| std::io::Error::other("the system has no randomness to give"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What is sent ahead for a verifier: its S256 challenge.
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn words_are_long_and_differ() {
        let (one, other) = (random_word().unwrap(), random_word().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
