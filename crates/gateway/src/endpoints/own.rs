//! Answers of our own: no upstream is asked for them. They count against the key's rate, and cost
//! what the price list says, which is nothing unless it was configured.

use std::sync::Arc;

use axum::response::Response;
use ledger::{Micros, Rule};

use crate::charge::{Charge, Opened, Order, Results};
use crate::config::Operation;
use crate::failure::ApiError;
use crate::identity::Caller;
use crate::proxy::relay::rule_of;
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
    let price = Micros::new(service.config.prices.default_of(operation));
    if price > Micros::ZERO {
        return Box::pin(charged(service, arrival, caller, (operation, price), work)).await;
    }
    let room = service.store.admit(caller.key.member, caller.key.lineage).await??;
    let mut response = work.await?;
    rate::write_headers(room, response.headers_mut());
    Ok(response)
}

async fn charged(
    service: &Arc<Service>,
    arrival: &Arrival,
    caller: &Caller,
    (operation, price): (Operation, Micros),
    work: impl Future<Output = Result<Response, ApiError>>,
) -> Result<Response, ApiError> {
    let order = Order {
        id: arrival.id,
        caller,
        operation: operation.word(),
        model: None,
        price,
        idempotency: None,
        background: None,
    };
    let Opened::Charge(mut charge) = Charge::open(service, order).await? else {
        // Without an idempotency key nothing is given again.
        return Err(ApiError::internal());
    };
    let (id, room) = (charge.id(), charge.room());
    let mut response = match work.await {
        Ok(response) => response,
        Err(error) => {
            let error = error.refunded(id, room);
            charge.release(rule_of(&error)).await;
            return Err(error);
        }
    };
    let charged = charge.settle(Rule::Answered, Results::default()).await?;
    rate::write_receipt(response.headers_mut(), id, charged);
    rate::write_headers(room, response.headers_mut());
    Ok(response)
}
