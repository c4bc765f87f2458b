//! Admission of member requests: authentication, limits on bodies, and a first look at the balance.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, Request};
use bytes::Bytes;
use gateway_store::{KeyRecord, Scope};
use http::HeaderMap;
use http::request::Parts;
use ledger::{IdempotencyKey, Micros, Refusal};
use wire::research::Depth;

use super::body;
use super::fixed_price::FixedPrice;
use crate::billing::Billing;
use crate::catalogue::{MEDIA_CAPABILITIES, Model};
use crate::config::{Capability, Config, Operation};
use crate::failure::{ApiError, ApiResult};
use crate::identity::{Caller, Identities};
use crate::parsing::Parsing;
use crate::request_info::RequestInfo;
use crate::research;
use crate::upstreams::Upstreams;

pub(super) struct RequestAdmission {
    pub(super) config: Arc<Config>,
    pub(super) identities: Arc<Identities>,
    pub(super) billing: Arc<Billing>,
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) parsing: Parsing,
}

/// A request of an authenticated caller, with its whole body.
pub(super) struct Received {
    pub(super) caller: Caller,
    pub(super) bytes: Bytes,
    pub(super) idempotency: Option<IdempotencyKey>,
}

/// A read operation of a member, whose key is not checked yet.
pub(super) struct MemberRead {
    admission: Arc<RequestAdmission>,
    info: RequestInfo,
    pub(super) headers: HeaderMap,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAccess {
    /// `None` accepts any key.
    pub(super) scope: Option<Scope>,
    pub(super) operation: Operation,
}

impl<S: Sync> FromRequestParts<S> for MemberRead
where
    Arc<RequestAdmission>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let info = RequestInfo::from_request_parts(parts, state).await?;
        Ok(Self { admission: Arc::from_ref(state), info, headers: parts.headers.clone() })
    }
}

impl MemberRead {
    /// Authenticates the caller, and runs the operation for its fixed price.
    pub(super) async fn answer(
        &self,
        access: ReadAccess,
        work: impl AsyncFnOnce(&Caller) -> ApiResult,
    ) -> ApiResult {
        let identities = &self.admission.identities;
        let caller = match access.scope {
            Some(scope) => identities.caller_for(&self.headers, scope).await?,
            None => identities.caller(&self.headers).await?,
        };
        let (billing, info, operation) = (&self.admission.billing, &self.info, access.operation);
        let price = FixedPrice { billing, info, caller: &caller, operation, idempotency: None };
        price.answer(work(&caller)).await
    }
}

impl RequestAdmission {
    /// Identifies the caller, then reads the body, which waits until there is room to parse it.
    /// `purpose` separates the uses of one idempotency key.
    pub(super) async fn receive(
        &self,
        request: Request,
        scope: Scope,
        purpose: &str,
    ) -> ApiResult<Received> {
        let (head, body) = request.into_parts();
        let (caller, body) = self.identify(&head.headers, body, scope).await?;
        let bytes = self.read_body(&head.headers, body).await?;
        let bytes = self.admit_parsing(bytes).await?;
        let idempotency = body::idempotency(&head.headers, purpose, &bytes)?;
        Ok(Received { caller, bytes, idempotency })
    }

    /// Identifies the caller of a request. The member of a body that may be large must be able to
    /// pay for the cheapest request of the scope.
    pub(super) async fn identify(
        &self,
        headers: &HeaderMap,
        body: Body,
        scope: Scope,
    ) -> ApiResult<(Caller, Body)> {
        let is_small = body::is_small(&body);
        let identified = async {
            let caller = self.identities.caller_for(headers, scope).await?;
            // A repeated request may be answered without money; the hold decides.
            let may_repeat = headers.contains_key(&body::IDEMPOTENCY_KEY);
            if !may_repeat && !is_small {
                self.check_balance(&caller, scope).await?;
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

    pub(super) async fn read_body(&self, headers: &HeaderMap, body: Body) -> ApiResult<Bytes> {
        body::read(&self.config.limits, headers, body).await
    }

    pub(super) async fn admit_parsing(&self, bytes: Bytes) -> ApiResult<Bytes> {
        self.parsing.admit(bytes, self.config.limits.body_timeout).await
    }

    /// Rejects a member whose balance, or that of its team, does not cover the cheapest request of
    /// a scope. This only spares work: the hold decides.
    async fn check_balance(&self, caller: &KeyRecord, scope: Scope) -> ApiResult<()> {
        let needed = self.cheapest(scope);
        if needed == Micros::ZERO {
            return Ok(());
        }
        let payer = caller.team.unwrap_or(caller.key.member);
        let account = self.billing.store.account(payer).await?.ok_or_else(ApiError::no_key)?;
        let available = account.available();
        if available < needed {
            let account = account.kind;
            return Err(Refusal::InsufficientBalance { needed, available, account }.into());
        }
        Ok(())
    }

    fn cheapest(&self, scope: Scope) -> Micros {
        let catalogue = self.upstreams.catalogue.load();
        let least = |offered: &[Capability]| {
            let prices = catalogue.models().flat_map(|model| {
                let used = offered.iter().filter(|capability| model.is_for(**capability));
                let operations = used.filter_map(|capability| capability.operation());
                operations.map(|operation| model.prices.of(operation))
            });
            prices.min()
        };
        let cheapest = match scope {
            Scope::Chat => least(&[
                Capability::Chat,
                Capability::Embeddings,
                Capability::Moderation,
                Capability::Rerank,
            ]),
            Scope::Responses => least(&[Capability::Responses]),
            Scope::Media => least(&MEDIA_CAPABILITIES),
            Scope::Search => Some(self.billing.price(Operation::Search)),
            Scope::Fetch => Some(self.billing.price(Operation::Fetch)),
            Scope::Research => {
                let depths = [Depth::Quick, Depth::Standard, Depth::Deep];
                let price = |depth, model: &Model| {
                    Micros::new(research::price_micros(&self.config, depth, &model.id))
                };
                let prices =
                    catalogue.models().flat_map(|model| depths.map(|depth| price(depth, model)));
                prices.min()
            }
            Scope::Models | Scope::Mcp => None,
        };
        cheapest.unwrap_or(Micros::ZERO)
    }
}
