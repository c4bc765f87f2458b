//! Posts to a URL, with the same guard as pages and without redirects.

use bytes::Bytes;
use http::Request;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::Reader;
use crate::exchange::{BROKEN, MAX_HEAD_BYTES, drive};
use crate::fault::{Fault, Result};
use crate::target::Target;

impl Reader {
    /// Checks whether a URL is allowed, without resolving its name.
    pub fn may_reach(&self, target: &Target) -> Result<()> {
        self.guard.check(target)
    }

    /// Posts JSON, and returns the status of the response.
    pub async fn deliver(
        &self,
        target: &Target,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<u16> {
        let mut request = Request::post(target.path())
            .header(HOST, target.authority())
            .header(USER_AGENT, &self.options.user_agent)
            .header(CONTENT_TYPE, "application/json")
            .header(CONNECTION, "close");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|_| Fault::BadUrl("cannot be requested"))?;
        self.guard.check(target)?;
        let addresses = self.guard.addresses(target, self.resolver()).await?;
        let connection = self.connector.connect(target, &addresses).await?;
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(connection))
            .await
            .map_err(|_| BROKEN)?;
        let response = drive(connection, sender.send_request(request)).await.map_err(|_| BROKEN)?;
        Ok(response.status().as_u16())
    }
}
