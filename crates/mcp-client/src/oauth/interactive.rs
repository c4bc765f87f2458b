//! Interactive sign-in while a request waits.

use std::sync::Arc;

use tokio::time::Instant;

use super::credentials::Credentials;
use super::login::{LoginOptions, SignInRequest};
use crate::Error;
use crate::host::{Browser, Host};
use crate::redact::Redactor;

const MAX_SIGN_INS: u32 = 2;

#[derive(Debug)]
pub(crate) struct InteractiveSignIn<'a> {
    credentials: Option<&'a Arc<Credentials>>,
    browser: Option<&'a Arc<dyn Browser>>,
    redactor: &'a Redactor,
    /// When the request, or its last retry, began.
    since: Instant,
    attempts: u32,
}

impl<'a> InteractiveSignIn<'a> {
    pub(crate) fn new(credentials: Option<&'a Arc<Credentials>>, host: &'a Host) -> Self {
        let (browser, redactor) = (host.browser.as_ref(), &*host.redactor);
        Self { credentials, browser, redactor, since: Instant::now(), attempts: 0 }
    }

    /// Signs in if the error can be resolved by it and a browser is available; the caller then
    /// retries. Returns the error otherwise.
    pub(crate) async fn resolve(&mut self, error: Error) -> Result<(), Error> {
        let (Some(credentials), Some(browser)) = (self.credentials, self.browser) else {
            return Err(error);
        };
        let (Error::SignIn { challenge } | Error::Forbidden { challenge, .. }) = &error else {
            return Err(error);
        };
        if self.attempts == MAX_SIGN_INS || !credentials.sign_in_would_help(&error) {
            return Err(error);
        }
        self.attempts += 1;
        let challenge = challenge.as_deref();
        let options = LoginOptions::default();
        let request = SignInRequest { since: self.since, anew: false, options };
        let signed_in = credentials.sign_in(&**browser, challenge, request).await;
        self.since = Instant::now();
        signed_in.map_err(|error| error.redacted(self.redactor))
    }
}
