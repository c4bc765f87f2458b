//! The random tokens of cookies, and the tokens of forms that follow from them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::identity::hex;

const RANDOM_BYTES: usize = 32;
/// The length of a token as text.
const TEXT_LENGTH: usize = 43;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    Session,
    /// Of a person who is about to sign in: it protects that form. It is never a session.
    SignIn,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    /// A new token; `None` if the machine returns no random bytes.
    pub(super) fn draw() -> Option<Self> {
        let mut bytes = [0; RANDOM_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(super) fn of(headers: &HeaderMap, config: &Config, cookie: Cookie) -> Option<Self> {
        let name = cookie.name(config);
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|it| it.split_once('='));
        let (_, value) = pairs.find(|(known, _)| known.trim() == name)?;
        let is_token = value.len() == TEXT_LENGTH && value.is_ascii();
        is_token.then(|| Self(value.to_owned()))
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    pub(super) fn csrf(&self) -> String {
        hex(hmac::sign(&self.key(), b"form").as_ref())
    }

    /// Whether a form has the right token, compared in constant time.
    pub(super) fn is_csrf(&self, offered: &str) -> bool {
        let offered: Option<Vec<u8>> = (0..offered.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(offered.get(at..at + 2)?, 16).ok())
            .collect();
        offered.is_some_and(|offered| hmac::verify(&self.key(), b"form", &offered).is_ok())
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes())
    }
}

impl Cookie {
    /// Under HTTPS the prefix makes browsers refuse the cookie from any other host.
    fn name(self, config: &Config) -> &'static str {
        match (self, is_https(config)) {
            (Self::Session, true) => "__Host-agent-session",
            (Self::Session, false) => "agent-session",
            (Self::SignIn, true) => "__Host-agent-sign-in",
            (Self::SignIn, false) => "agent-sign-in",
        }
    }

    /// The header that sets the cookie for some seconds; without a token it is removed.
    pub(super) fn set(
        self,
        config: &Config,
        token: Option<&Token>,
        seconds: u64,
    ) -> Option<HeaderValue> {
        let (name, seconds) = (self.name(config), token.map_or(0, |_| seconds));
        let value = token.map_or("", |token| &token.0);
        let secure = if is_https(config) { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
        HeaderValue::try_from(text).ok()
    }
}

fn is_https(config: &Config) -> bool {
    config.public_url.scheme_str() == Some("https")
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests;
