//! Somebody who can be brought to sign in while a request waits.

use std::sync::Arc;

use tokio::time::Instant;

use super::credentials::Credentials;
use super::identification::Driver;
use super::login::SignIn;
use crate::Error;
use crate::host::{Browser, Host};
use crate::redact::Redactor;

/// How often one request brings a person to sign in.
const MAX_SIGN_INS: u32 = 2;

/// Who can be brought to sign in, if anybody can.
#[derive(Debug)]
pub(crate) struct Person<'a> {
    credentials: Option<&'a Arc<Credentials>>,
    browser: Option<&'a Arc<dyn Browser>>,
    redactor: &'a Redactor,
    /// When the request began, or was last helped.
    since: Instant,
    visits: u32,
}

impl<'a> Person<'a> {
    pub(crate) fn new(credentials: Option<&'a Arc<Credentials>>, host: &'a Host) -> Self {
        let (browser, redactor) = (host.browser.as_ref(), &*host.redactor);
        Self { credentials, browser, redactor, since: Instant::now(), visits: 0 }
    }

    /// Where the server wants a sign-in, or more than was granted, and somebody is there, signs in:
    /// then what failed can be tried again. Gives the error back where that does not help.
    pub(crate) async fn help(&mut self, error: Error) -> Result<(), Error> {
        let (Some(credentials), Some(browser)) = (self.credentials, self.browser) else {
            return Err(error);
        };
        let (Error::SignIn { challenge } | Error::Forbidden { challenge, .. }) = &error else {
            return Err(error);
        };
        if self.visits == MAX_SIGN_INS || !credentials.could_help(&error) {
            return Err(error);
        }
        self.visits += 1;
        let challenge = challenge.as_deref();
        let wanted =
            SignIn { since: self.since, driver: Driver::default(), scope: None, anew: false };
        let signed_in = credentials.sign_in(&**browser, challenge, wanted).await;
        self.since = Instant::now();
        signed_in.map_err(|error| error.cleaned(self.redactor))
    }
}
