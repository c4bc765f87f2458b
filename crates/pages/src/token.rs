//! Random cookie tokens, and the form tokens derived from them.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

const RANDOM_BYTES: usize = 32;
/// Length of a token as text.
const TEXT_LENGTH: usize = 43;

/// A random secret, such as the value of a session cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new token; `None` if the system returns no random bytes.
    pub fn draw() -> Option<Self> {
        let mut bytes = [0; RANDOM_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The token in the cookie of this name.
    pub fn of_cookie(headers: &HeaderMap, name: &str) -> Option<Self> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|it| it.split_once('='));
        let (_, value) = pairs.find(|(known, _)| known.trim() == name)?;
        Self::parse(value)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_token = text.len() == TEXT_LENGTH && text.is_ascii();
        is_token.then(|| Self(text.to_owned()))
    }

    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The hash that a server stores.
    pub fn hash(&self) -> [u8; 32] {
        let digest = digest::digest(&digest::SHA256, self.0.as_bytes());
        digest.as_ref().try_into().unwrap_or_default()
    }

    /// The token of the forms of this session.
    pub fn csrf(&self) -> String {
        let signed = hmac::sign(&self.key(), b"form");
        signed.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Whether a form token is correct, compared in constant time.
    pub fn is_csrf(&self, offered: &str) -> bool {
        let offered: Option<Vec<u8>> = (0..offered.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(offered.get(at..at + 2)?, 16).ok())
            .collect();
        offered.is_some_and(|offered| hmac::verify(&self.key(), b"form", &offered).is_ok())
    }

    /// The header that sets this cookie, for some seconds or for the browser session.
    pub fn set_cookie(
        &self,
        name: &str,
        seconds: Option<u64>,
        secure: bool,
    ) -> Option<HeaderValue> {
        cookie(name, &self.0, seconds, secure)
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes())
    }
}

/// The header that removes a cookie.
pub fn remove_cookie(name: &str, secure: bool) -> Option<HeaderValue> {
    cookie(name, "", Some(0), secure)
}

fn cookie(name: &str, value: &str, seconds: Option<u64>, secure: bool) -> Option<HeaderValue> {
    let age = seconds.map_or(String::new(), |seconds| format!("; Max-Age={seconds}"));
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{age}{secure}");
    HeaderValue::try_from(text).ok()
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests;
