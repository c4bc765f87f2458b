//! Answers of our own: no upstream is asked for them. They count against the key's rate, and cost
//! what the price list says, which is nothing unless it was configured.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use gateway_store::{SavedAnswer, Scope};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use ledger::{AnswerProgress, EndReason, IdempotencyKey, Micros};

use super::paid;
use crate::charge::{Charge, Opened, Order, Results};
use crate::config::Operation;
use crate::failure::ApiError;
use crate::identity::Caller;
use crate::proxy::relay::MAX_KEPT_BYTES;
use crate::rate;
use crate::server::Arrival;
use crate::service::Service;

/// Does the work for a caller who may ask for it. Work that fails is free.
pub(super) async fn answer(
    service: &Arc<Service>,
    arrival: &Arrival,
    caller: &Caller,
    operation: Operation,
    work: impl Future<Output = Result<Response, ApiError>>,
) -> Result<Response, ApiError> {
    answer_once(service, arrival, caller, (operation, None), work).await
}

/// Recognises whoever asks, and does the work if their key is for it.
pub(super) async fn look(
    service: &Arc<Service>,
    arrival: &Arrival,
    headers: &HeaderMap,
    (scope, operation): (Scope, Operation),
    work: impl AsyncFnOnce(&Caller) -> Result<Response, ApiError>,
) -> Result<Response, ApiError> {
    let caller = service.caller_for(headers, scope).await?;
    let work = work(&caller);
    answer(service, arrival, &caller, operation, work).await
}

/// The same as [`answer`] for work that is done, and paid for, once for an idempotency key.
pub(super) async fn answer_once(
    service: &Arc<Service>,
    arrival: &Arrival,
    caller: &Caller,
    (operation, idempotency): (Operation, Option<IdempotencyKey>),
    work: impl Future<Output = Result<Response, ApiError>>,
) -> Result<Response, ApiError> {
    let price = Micros::new(service.config.prices.default_of(operation));
    if price > Micros::ZERO {
        let order = Order {
            id: arrival.id,
            caller,
            operation: operation.word(),
            model: None,
            price,
            idempotency,
            background: None,
        };
        return Box::pin(charged(service, order, work)).await;
    }
    let room = service.store.admit(caller.key.member, caller.key.lineage).await??;
    let mut response = work.await?;
    rate::write_headers(room, response.headers_mut());
    Ok(response)
}

async fn charged(
    service: &Arc<Service>,
    order: Order<'_>,
    work: impl Future<Output = Result<Response, ApiError>>,
) -> Result<Response, ApiError> {
    let mut charge = match Charge::open(service, order).await? {
        Opened::Charge(charge) => charge,
        Opened::Again(known) => return Ok(paid::again(known)),
    };
    let (id, room) = (charge.id(), charge.room());
    let mut response = match work.await {
        Ok(response) => response,
        Err(error) => {
            let error = error.refunded(id, room);
            charge.fail(&error).await;
            return Err(error);
        }
    };
    let mut answer = None;
    if charge.is_kept() {
        (response, answer) = kept(response).await?;
    }
    let results = Results { answer, ..Results::default() };
    let charged = charge.close((EndReason::Complete, AnswerProgress::Content), results).await?;
    rate::write_receipt(response.headers_mut(), id, charged);
    rate::write_headers(room, response.headers_mut());
    Ok(response)
}

/// An answer, and what is kept of it to be given again.
async fn kept(response: Response) -> Result<(Response, Option<SavedAnswer>), ApiError> {
    let (head, body) = response.into_parts();
    // Answers of our own are in memory already.
    let body = to_bytes(body, usize::MAX).await.map_err(|_| ApiError::internal())?;
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let answer = (body.len() <= MAX_KEPT_BYTES).then(|| SavedAnswer {
        status: head.status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: body.to_vec(),
    });
    Ok((Response::from_parts(head, Body::from(body)), answer))
}
