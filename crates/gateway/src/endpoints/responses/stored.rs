//! Stored responses: find, delete, cancel, list the input.

use gateway_store::{HoldClosing, Scope, Store, StoredResponse};
use ledger::{AnswerProgress, EndReason, EndResult, HoldEnd, HoldOutcome, TokenCounts};
use serde::Deserialize;
use serde_json::{Value, json};
use wire::error::Code;

use super::{ResponseEvents, is_over};
use crate::billing::saved_json;
use crate::config::Operation;
use crate::endpoints::admission::{MemberRead, ReadAccess};
use crate::endpoints::{Id, RawQuery, event_tail, json, parse_query};
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;

const ACCESS: ReadAccess =
    ReadAccess { scope: Some(Scope::Responses), operation: Operation::ResponsesRead };
const DEFAULT_ITEMS: usize = 20;
const MAX_ITEMS: usize = 100;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct FindQuery {
    stream: Option<bool>,
    starting_after: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ItemsQuery {
    limit: Option<usize>,
    after: Option<String>,
    order: Option<String>,
}

pub(crate) async fn find(Id(id): Id, query: RawQuery<FindQuery>, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let query = parse_query(query)?;
        let stored = find_response(&read.service.billing.store, caller, &id).await?;
        if query.stream != Some(true) {
            return Ok(json(&body(&stored)));
        }
        if !stored.background {
            let message = "only a response created with `background` can be streamed again";
            return Err(ApiError::invalid("stream", message));
        }
        let follower = read.service.background.follow(caller.key.lineage)?;
        let after = query.starting_after.unwrap_or(-1);
        let events = ResponseEvents::new(&read.service.billing, stored.member, stored.id, after);
        Ok(event_tail::stream(&read.service, follower, events))
    })
    .await
}

pub(crate) async fn delete(Id(id): Id, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let stored = find_response(&read.service.billing.store, caller, &id).await?;
        if stored.background && !is_over(&stored.status) {
            stop(&read, &stored).await?;
        }
        read.service.billing.store.delete_response(stored.member, &stored.id).await?;
        Ok(json(&json!({"id": stored.id, "object": "response", "deleted": true})))
    })
    .await
}

pub(crate) async fn cancel(Id(id): Id, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let stored = find_response(&read.service.billing.store, caller, &id).await?;
        if !stored.background {
            let message = "only a response created with `background` can be cancelled";
            return Err(ApiError::new(Code::InvalidRequest, message));
        }
        if !is_over(&stored.status) {
            stop(&read, &stored).await?;
        }
        let now = read.service.billing.store.response(stored.member, &stored.id).await?;
        Ok(json(&body(&now.ok_or_else(missing)?)))
    })
    .await
}

pub(crate) async fn input_items(
    Id(id): Id,
    query: RawQuery<ItemsQuery>,
    read: MemberRead,
) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let query = parse_query(query)?;
        let stored = find_response(&read.service.billing.store, caller, &id).await?;
        items(&stored, &query).map(|list| json(&list))
    })
    .await
}

fn items(stored: &StoredResponse, query: &ItemsQuery) -> ApiResult<Value> {
    let limit = query.limit.unwrap_or(DEFAULT_ITEMS);
    if !(1..=MAX_ITEMS).contains(&limit) {
        return Err(ApiError::invalid("limit", format!("`limit` must be from 1 to {MAX_ITEMS}")));
    }
    let mut items: Vec<Value> = serde_json::from_slice(&stored.input).unwrap_or_default();
    match query.order.as_deref() {
        None | Some("desc") => items.reverse(),
        Some("asc") => {}
        Some(_) => {
            return Err(ApiError::invalid("order", "`order` must be `asc` or `desc`"));
        }
    }
    if let Some(after) = &query.after {
        let place = items.iter().position(|item| item["id"] == after.as_str());
        let Some(place) = place else {
            let message = "`after` is not the id of an item of this response";
            return Err(ApiError::invalid("after", message));
        };
        items.drain(..=place);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id_of = |item: Option<&Value>| item.and_then(|item| item.get("id")).cloned();
    Ok(json!({
        "object": "list",
        "first_id": id_of(items.first()),
        "last_id": id_of(items.last()),
        "has_more": has_more,
        "data": items,
    }))
}

async fn find_response(store: &Store, caller: &Caller, id: &str) -> ApiResult<StoredResponse> {
    if !is_id(id) {
        return Err(missing());
    }
    store.response(caller.key.member, id).await?.ok_or_else(missing)
}

/// Ends a background response, in whichever process it runs. It is charged if content may have been
/// delivered, that is, once it is in progress: its first events are stored after that
/// (`background.rs`).
async fn stop(read: &MemberRead, stored: &StoredResponse) -> ApiResult<()> {
    let service = &read.service;
    let store = &service.billing.store;
    let mut object = body(stored);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("status".to_owned(), "cancelled".into());
    }
    let response = StoredResponse {
        status: "cancelled".to_owned(),
        body: object.to_string().into(),
        ..stored.clone()
    };
    let rule = EndReason::Cancelled.rule(reached(store, &response).await?);
    let is_charged = rule.outcome() == HoldOutcome::Settled;
    let end = HoldEnd {
        id: stored.hold,
        member: stored.member,
        rule,
        model: None,
        tokens: TokenCounts::default(),
        attempts: None,
        answered: is_charged,
    };
    let answer = is_charged.then(|| saved_json(response.body.clone()));
    let closing = HoldClosing { end, answer, response: Some(response), media: None };
    let ended = store.end(closing).await?;
    if let EndResult::Ended(receipt) = ended {
        service.metrics.ended(&receipt);
    }
    service.background.cancel(&stored.id);
    Ok(())
}

/// Whether a response had begun to answer when it was cancelled. This also cancels a queued
/// one, so that it cannot begin.
async fn reached(store: &Store, cancelled: &StoredResponse) -> ApiResult<AnswerProgress> {
    if store.cancel_queued_response(cancelled).await? {
        return Ok(AnswerProgress::Nothing);
    }
    let status = store.response_status(cancelled.member, &cancelled.id).await?;
    // Any other status: another request cancelled it, or it ended.
    let has_begun = status.as_deref() == Some("in_progress");
    Ok(if has_begun { AnswerProgress::Begun } else { AnswerProgress::Nothing })
}

fn body(stored: &StoredResponse) -> Value {
    serde_json::from_slice(&stored.body).unwrap_or_default()
}

pub(super) fn is_id(id: &str) -> bool {
    const MAX_ID: usize = 100;
    id.len() <= MAX_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn missing() -> ApiError {
    ApiError::new(Code::NotFound, "no response with this id")
}
