//! Operations that need no model. They count against the rate limit of the key, and have a
//! listed price, by default 0.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use gateway_store::SavedAnswer;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use ledger::{AnswerProgress, EndReason, IdempotencyKey, Micros};

use crate::billing::{Billing, Charge, Opened, Order, Replay, Results};
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::proxy::relay::MAX_STORED_ANSWER_BYTES;
use crate::request_info::RequestInfo;
use crate::response_headers::{self, EVENT_STREAM};

/// An extension of responses that have no result: they are not charged.
#[derive(Debug, Clone, Copy)]
pub(super) struct NothingFound;

pub(super) struct FixedPrice<'a> {
    pub(super) billing: &'a Arc<Billing>,
    pub(super) info: &'a RequestInfo,
    pub(super) caller: &'a Caller,
    pub(super) operation: Operation,
    pub(super) idempotency: Option<IdempotencyKey>,
}

impl FixedPrice<'_> {
    pub(super) async fn answer(self, work: impl Future<Output = ApiResult>) -> ApiResult {
        let price = self.billing.price(self.operation);
        if price > Micros::ZERO {
            return Box::pin(self.charged(price, work)).await;
        }
        let limit_status = self.billing.admit(self.caller).await?;
        let mut response = work.await?;
        response_headers::write_limits(limit_status, response.headers_mut());
        Ok(response)
    }

    async fn charged(self, price: Micros, work: impl Future<Output = ApiResult>) -> ApiResult {
        let order = Order {
            id: self.info.id,
            caller: self.caller,
            operation: self.operation.as_str(),
            model: None,
            price,
            idempotency: self.idempotency,
            background: None,
            parent: self.info.parent,
        };
        let mut charge = match Charge::open(self.billing, order).await? {
            Opened::Charge(charge) => charge,
            Opened::Replay(replay) => return Ok(replayed(replay)),
        };
        let (id, limit_status) = (charge.id(), charge.limit_status());
        let mut response = match work.await {
            Ok(response) => response,
            Err(error) => {
                let error = error.refunded(id, limit_status);
                charge.fail(&error).await;
                return Err(error);
            }
        };
        let is_empty = response.extensions().get::<NothingFound>().is_some();
        let progress = if is_empty { AnswerProgress::Begun } else { AnswerProgress::Content };
        let mut answer = None;
        if charge.is_stored() && !is_empty {
            (response, answer) = stored(response).await?;
        }
        let results = Results { answer, ..Results::default() };
        let charged = charge.close(EndReason::Complete, progress, results).await?;
        response_headers::write_receipt(response.headers_mut(), id, charged);
        response_headers::write_limits(limit_status, response.headers_mut());
        Ok(response)
    }
}

/// A response, and the answer to store for its idempotency key.
async fn stored(response: Response) -> ApiResult<(Response, Option<SavedAnswer>)> {
    let (head, body) = response.into_parts();
    // These bodies are in memory already.
    let body = to_bytes(body, usize::MAX).await.map_err(|_| ApiError::internal())?;
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let answer = (body.len() <= MAX_STORED_ANSWER_BYTES).then(|| SavedAnswer {
        status: head.status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: body.to_vec(),
    });
    Ok((Response::from_parts(head, Body::from(body)), answer))
}

pub(super) fn replayed(replay: Replay) -> Response {
    let Replay { id, charged, answer } = replay;
    let is_stream = answer.content_type == EVENT_STREAM;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    if is_stream {
        response_headers::write_stream(headers);
    } else if let Ok(value) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    response_headers::write_replayed(headers);
    response_headers::write_receipt(headers, id, charged);
    response
}
