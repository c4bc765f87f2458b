//! Sends requests with the token of a server, and with another one after a refusal.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};

use super::credentials::Credentials;
use crate::transport::http_client::{Authorized, Authorizer, HttpClient};

/// How often one request is sent with another token: a token that another process has just renewed
/// may have ended by the time it is sent.
const MAX_RENEWALS: u32 = 2;
/// How often one request is sent with another proof for the same token.
const MAX_PROOFS: u32 = 2;

impl Authorizer for Credentials {
    /// A request whose token was refused has not been executed, so that sending it again is safe.
    fn send(self: Arc<Self>, client: &HttpClient, request: Request<Bytes>) -> Authorized<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let (method, target) = (&parts.method, &parts.uri);
            let mut held = self.present().await?;
            let (mut renewals, mut proofs) = (0, 0);
            loop {
                let mut headers = parts.headers.clone();
                headers.extend(held.iter().flat_map(|held| held.headers(method, target)));
                let response = client.follow(method, target, &headers, body.clone()).await?;
                if response.status() != StatusCode::UNAUTHORIZED {
                    return Ok(response);
                }
                if renewals == MAX_RENEWALS {
                    self.give_up()?;
                    return Ok(response);
                }
                match self.renew(held.as_ref(), response.headers()).await? {
                    Some(fresh) if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, &fresh)) => {
                        proofs += 1;
                        if proofs > MAX_PROOFS {
                            return Ok(response);
                        }
                    }
                    Some(fresh) => {
                        renewals += 1;
                        held = Some(fresh);
                    }
                    None => return Ok(response),
                }
            }
        })
    }
}
