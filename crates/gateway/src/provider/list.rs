//! The models of an upstream, as it lists them.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use tokio::time::timeout;

use super::Provider;
use crate::failure::chain;

/// The longest answer that is read.
const MAX_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
pub(crate) struct List {
    pub(crate) data: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    #[serde(default, alias = "max_model_len")]
    pub(crate) context_length: Option<u64>,
}

impl Provider {
    /// Sends a request that no member pays for; a body is posted. The error is for operators.
    pub(crate) async fn ask(
        &self,
        path: &str,
        body: Option<String>,
        limit: Duration,
    ) -> Result<(StatusCode, Bytes), String> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::new(body.unwrap_or_default().into());
        *request.method_mut() = method;
        *request.uri_mut() = self.base.join(path).ok_or("invalid URL")?;
        *request.headers_mut() = self.headers();
        let answer = async {
            let answer = self.pool.request(request).await.map_err(|error| chain(&error))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
            Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
        };
        let late = |_| format!("timeout after {} seconds", limit.as_secs_f64());
        timeout(limit, answer).await.map_err(late)?
    }
}
