//! The cookies of the console.

use http::{HeaderMap, HeaderValue};
use pages::Token;

use crate::config::Config;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    Session,
    /// Protects the sign-in form before there is a session. It is never a session.
    SignIn,
}

impl Cookie {
    pub(super) fn token(self, headers: &HeaderMap, config: &Config) -> Option<Token> {
        Token::of_cookie(headers, self.name(config))
    }

    /// Under HTTPS the prefix makes browsers refuse the cookie from any other host.
    fn name(self, config: &Config) -> &'static str {
        match (self, is_https(config)) {
            (Self::Session, true) => "__Host-agent-session",
            (Self::Session, false) => "agent-session",
            (Self::SignIn, true) => "__Host-agent-sign-in",
            (Self::SignIn, false) => "agent-sign-in",
        }
    }

    /// Sets the cookie for some seconds; without a token it is removed.
    pub(super) fn set(
        self,
        config: &Config,
        token: Option<&Token>,
        seconds: u64,
    ) -> Option<HeaderValue> {
        let (name, is_secure) = (self.name(config), is_https(config));
        match token {
            Some(token) => token.set_cookie(name, Some(seconds), is_secure),
            None => pages::remove_cookie(name, is_secure),
        }
    }
}

fn is_https(config: &Config) -> bool {
    config.public_url.scheme_str() == Some("https")
}
