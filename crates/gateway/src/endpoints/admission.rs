//! Admission of member requests: authentication, limits on bodies, and a first look at the balance.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;
use gateway_store::{KeyRecord, Scope};
use http::HeaderMap;
use http::request::Parts;
use ledger::{IdempotencyKey, Micros, Refusal};
use wire::research::Depth;

use super::fixed_price::FixedPrice;
use super::{AppState, body};
use crate::catalogue::{MEDIA_CAPABILITIES, Model};
use crate::config::{Capability, Operation};
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::request_info::RequestInfo;
use crate::research;
use crate::service::Service;

/// A request of a member with a body, whose key is not checked yet.
pub(super) struct MemberRequest {
    pub(super) service: Arc<Service>,
    pub(super) info: RequestInfo,
    pub(super) request: Request,
}

/// A request of an authenticated caller, with its whole body.
pub(super) struct Received {
    pub(super) service: Arc<Service>,
    pub(super) info: RequestInfo,
    pub(super) caller: Caller,
    pub(super) bytes: Bytes,
    pub(super) idempotency: Option<IdempotencyKey>,
}

/// A read operation of a member, whose key is not checked yet.
pub(super) struct MemberRead {
    pub(super) service: Arc<Service>,
    info: RequestInfo,
    pub(super) headers: HeaderMap,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAccess {
    /// `None` accepts any key.
    pub(super) scope: Option<Scope>,
    pub(super) operation: Operation,
}

impl FromRequest<AppState> for MemberRequest {
    type Rejection = ApiError;

    async fn from_request(request: Request, service: &AppState) -> ApiResult<Self> {
        let info = request.extensions().get().copied().ok_or_else(ApiError::internal)?;
        Ok(Self { service: service.clone(), info, request })
    }
}

impl FromRequestParts<AppState> for MemberRead {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &AppState) -> ApiResult<Self> {
        let info = RequestInfo::from_request_parts(parts, service).await?;
        Ok(Self { service: service.clone(), info, headers: parts.headers.clone() })
    }
}

impl MemberRead {
    /// Authenticates the caller, and runs the operation for its fixed price.
    pub(super) async fn answer(
        &self,
        access: ReadAccess,
        work: impl AsyncFnOnce(&Caller) -> ApiResult,
    ) -> ApiResult {
        let Self { service, info, headers } = self;
        let caller = match access.scope {
            Some(scope) => service.identities.caller_for(headers, scope).await?,
            None => service.identities.caller(headers).await?,
        };
        let (billing, operation) = (&service.billing, access.operation);
        let price = FixedPrice { billing, info, caller: &caller, operation, idempotency: None };
        price.answer(work(&caller)).await
    }
}

impl MemberRequest {
    /// Identifies the caller, then reads the body, which waits until there is room to parse it.
    /// `purpose` separates the uses of one idempotency key.
    pub(super) async fn receive(self, scope: Scope, purpose: &str) -> ApiResult<Received> {
        let Self { service, info, request } = self;
        let (head, body) = request.into_parts();
        let (caller, body) = identify(&service, &head.headers, body, scope).await?;
        let limits = &service.config.limits;
        let bytes = body::read(limits, &head.headers, body).await?;
        let bytes = service.parsing.admit(bytes, limits.body_timeout).await?;
        let idempotency = body::idempotency(&head.headers, purpose, &bytes)?;
        Ok(Received { service, info, caller, bytes, idempotency })
    }
}

impl Received {
    /// Runs an operation for its fixed price.
    pub(super) async fn answer(
        &self,
        operation: Operation,
        work: impl Future<Output = ApiResult>,
    ) -> ApiResult {
        let Self { service, info, caller, idempotency, .. } = self;
        let (billing, idempotency) = (&service.billing, idempotency.clone());
        FixedPrice { billing, info, caller, operation, idempotency }.answer(work).await
    }
}

/// Identifies the caller of a request. The member of a body that may be large must be able to
/// pay for the cheapest request of the scope.
pub(super) async fn identify(
    service: &Service,
    headers: &HeaderMap,
    body: Body,
    scope: Scope,
) -> ApiResult<(Caller, Body)> {
    let is_small = body::is_small(&body);
    let identified = async {
        let caller = service.identities.caller_for(headers, scope).await?;
        // A repeated request may be answered without money; the hold decides.
        let may_repeat = headers.contains_key(&body::IDEMPOTENCY_KEY);
        if !may_repeat && !is_small {
            check_balance(service, &caller, scope).await?;
        }
        Ok(caller)
    };
    match identified.await {
        Ok(caller) => Ok((caller, body)),
        Err(error) => {
            body::discard(headers, body);
            Err(error)
        }
    }
}

/// Rejects a member whose balance, or that of its team, does not cover the cheapest request of
/// a scope. This only spares work: the hold decides.
async fn check_balance(service: &Service, caller: &KeyRecord, scope: Scope) -> ApiResult<()> {
    let needed = cheapest(service, scope);
    if needed == Micros::ZERO {
        return Ok(());
    }
    let payer = caller.team.unwrap_or(caller.key.member);
    let account = service.billing.store.account(payer).await?.ok_or_else(ApiError::no_key)?;
    let available = account.available();
    if available < needed {
        let account = account.kind;
        return Err(Refusal::InsufficientBalance { needed, available, account }.into());
    }
    Ok(())
}

fn cheapest(service: &Service, scope: Scope) -> Micros {
    let catalogue = service.upstreams.catalogue.load();
    let least = |offered: &[Capability]| {
        let prices = catalogue.models().flat_map(|model| {
            let used = offered.iter().filter(|capability| model.is_for(**capability));
            let operations = used.filter_map(|capability| capability.operation());
            operations.map(|operation| model.prices.of(operation))
        });
        prices.min()
    };
    let of_chat =
        [Capability::Chat, Capability::Embeddings, Capability::Moderation, Capability::Rerank];
    let cheapest = match scope {
        Scope::Chat => least(&of_chat),
        Scope::Responses => least(&[Capability::Responses]),
        Scope::Media => least(&MEDIA_CAPABILITIES),
        Scope::Search => Some(service.billing.price(Operation::Search)),
        Scope::Fetch => Some(service.billing.price(Operation::Fetch)),
        Scope::Research => {
            let depths = [Depth::Quick, Depth::Standard, Depth::Deep];
            let price = |depth, model: &Model| {
                Micros::new(research::price_micros(&service.config, depth, &model.id))
            };
            catalogue.models().flat_map(|model| depths.map(|depth| price(depth, model))).min()
        }
        Scope::Models | Scope::Mcp => None,
    };
    cheapest.unwrap_or(Micros::ZERO)
}
