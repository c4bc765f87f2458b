//! Sends requests with the access token of a server, and retries with another one after a refusal.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};

use super::credentials::Credentials;
use crate::transport::http_client::{Authorized, Authorizer, HttpClient};

/// The most retries with another token: one that another process has just renewed may expire before
/// it is sent.
const MAX_RENEWALS: u32 = 2;
/// The most retries with another `DPoP` proof for the same token.
const MAX_PROOFS: u32 = 2;

impl Authorizer for Credentials {
    /// A refused request was not executed, so that a retry is safe.
    fn send(self: Arc<Self>, client: &HttpClient, request: Request<Bytes>) -> Authorized<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let (method, target) = (&parts.method, &parts.uri);
            let mut token = self.present().await?;
            let (mut renewals, mut proofs) = (0, 0);
            loop {
                let mut headers = parts.headers.clone();
                headers.extend(token.iter().flat_map(|token| token.headers(method, target)));
                let response = client.follow(method, target, &headers, body.clone()).await?;
                if response.status() != StatusCode::UNAUTHORIZED {
                    return Ok(response);
                }
                if renewals == MAX_RENEWALS {
                    self.give_up()?;
                    return Ok(response);
                }
                match self.renew(token.as_ref(), response.headers()).await? {
                    Some(fresh)
                        if token.as_ref().is_some_and(|token| Arc::ptr_eq(token, &fresh)) =>
                    {
                        proofs += 1;
                        if proofs > MAX_PROOFS {
                            return Ok(response);
                        }
                    }
                    Some(fresh) => {
                        renewals += 1;
                        token = Some(fresh);
                    }
                    None => return Ok(response),
                }
            }
        })
    }
}
