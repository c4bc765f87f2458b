//! One key: limit, rotate, revoke. A member manages its own keys, an operator those of all members.

use std::time::Duration;

use askama::Template;
use axum::extract::Request;
use gateway_store::{KeyChange, KeyRecord, LimitsChange, Scope};
use http::header::SET_COOKIE;
use ledger::{BudgetStatus, Limits, Lineage};
use pages::{Fields, Frame, Html, credits};

use super::super::Id;
use super::context::{
    Access, Authorized, MemberAccess, OperatorAccess, PageContext, start_session,
};
use super::page::{self, PageError, PageResult, Refusal, redirect};
use super::{fields, filters, key_bounds};
use crate::clock;
use crate::identity::Caller;
use crate::operator::Issued;

/// Grace periods of a rotated key, in seconds.
const OVERLAPS: &[(u64, &str)] =
    &[(0, "Stop at once"), (3600, "Keep for an hour"), (86_400, "Keep for a day")];

/// The paths of the pages of members and of operators.
pub(super) const OWN_KEYS: &str = "/keys";
pub(super) const ALL_KEYS: &str = "/operator/keys";

pub(super) struct KeyRow {
    pub(super) record: KeyRecord,
    pub(super) lineage: Lineage,
    pub(super) budget: Option<BudgetStatus>,
    /// Whether the person signed in with it.
    pub(super) is_own: bool,
}

/// Rows of keys, the valid ones first.
pub(super) async fn rows(
    context: &PageContext,
    mut keys: Vec<KeyRecord>,
) -> PageResult<Vec<KeyRow>> {
    keys.sort_by_key(|record| (is_over(record), std::cmp::Reverse(record.key.created_at)));
    let mut rows = Vec::with_capacity(keys.len());
    for record in keys {
        let lineage = context.store().lineage(record.key.lineage).await?;
        let lineage = lineage.ok_or_else(|| PageError::missing("key"))?;
        let budget = lineage.budget_status(&context.service.billing.windows());
        let is_own = context.session.key.as_ref() == Some(&record.key.id);
        rows.push(KeyRow { record, lineage, budget, is_own });
    }
    Ok(rows)
}

impl KeyRow {
    pub(super) fn is_over(&self) -> bool {
        is_over(&self.record)
    }

    pub(super) fn state(&self) -> Html {
        match self.record.key.revoked_at {
            Some(_) => pages::tag("bad", "revoked"),
            None if self.is_over() => pages::tag("plain", "expired"),
            None => pages::tag("good", "valid"),
        }
    }

    pub(super) fn scopes(&self) -> String {
        let scopes = &self.record.key.scopes;
        if scopes.len() == Scope::ALL.len() {
            return "all".to_owned();
        }
        scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// All limits as a short text.
    pub(super) fn limits(&self) -> String {
        let limits = self.record.limits;
        let budget =
            |it: ledger::Budget| format!("{} per {}", credits(it.amount.get()), it.period.as_str());
        let parts = [
            limits.spend.map(|it| format!("{} credits", credits(it.get()))),
            limits.budget.map(budget),
            limits.requests_per_minute.map(|it| format!("{it} requests/min")),
            limits.concurrency.map(|it| format!("{it} at once")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

pub(super) fn is_over(record: &KeyRecord) -> bool {
    let is_expired = record.key.expires_at.is_some_and(|end| end <= clock::now());
    record.key.revoked_at.is_some() || is_expired
}

/// Who manages keys.
pub(super) struct KeyAccess {
    /// The key that bounds the person, to keys of the same member with at most its permissions;
    /// `None` for an operator, who manages all keys.
    bounds: Option<Caller>,
}

pub(super) type KeyKeeper = Authorized<KeyAccess>;

impl Access for KeyAccess {
    fn check(context: &PageContext, path: &str) -> PageResult<Self> {
        if path.starts_with(ALL_KEYS) {
            OperatorAccess::check(context, path)?;
            return Ok(Self { bounds: None });
        }
        Ok(Self { bounds: Some(MemberAccess::check(context, path)?.caller) })
    }
}

impl KeyKeeper {
    fn base(&self) -> &'static str {
        if self.who.bounds.is_some() { OWN_KEYS } else { ALL_KEYS }
    }

    fn can_change(&self, record: &KeyRecord) -> bool {
        self.who.bounds.as_ref().is_none_or(|own| key_bounds::covers(own, record))
    }

    /// Checks the requested limits of a key.
    fn check(&self, wanted: Limits, record: &KeyRecord) -> Result<(), Refusal> {
        let Some(own) = &self.who.bounds else { return Ok(()) };
        let most = key_bounds::most(own, &self.service.config.limits.new_keys);
        key_bounds::check(wanted, most, record.limits)
    }

    async fn find(&self, id: &str) -> PageResult<KeyRecord> {
        let record = if is_id(id) { self.store().key(id).await? } else { None };
        let is_seen = |record: &KeyRecord| {
            self.who.bounds.as_ref().is_none_or(|own| own.key.member == record.key.member)
        };
        record.filter(is_seen).ok_or_else(|| PageError::missing("key"))
    }

    /// A key that the person may modify.
    async fn find_open(&self, id: &str) -> PageResult<KeyRecord> {
        let record = self.find(id).await?;
        if self.can_change(&record) {
            return Ok(record);
        }
        Err(PageError::forbidden(
            "The key you signed in with is narrower than this one, so it cannot change it.",
        ))
    }
}

#[derive(Template)]
#[template(path = "console/key_secret.html")]
struct SecretPage<'a> {
    frame: Frame,
    base: &'static str,
    issued: &'a Issued,
}

/// The only page that contains the secret of a key.
pub(super) fn show_secret(
    context: &PageContext,
    base: &'static str,
    issued: &Issued,
    title: &str,
) -> PageResult {
    page::show(&SecretPage { frame: context.frame(title, base), base, issued })
}

#[derive(Template)]
#[template(path = "console/key.html")]
struct KeyPage {
    frame: Frame,
    /// The path of these pages.
    base: &'static str,
    /// Whether the key may be that of another member.
    is_all: bool,
    row: KeyRow,
    form: Fields,
    /// Whether the person may modify it.
    is_open: bool,
    overlaps: &'static [(u64, &'static str)],
}

pub(super) async fn show(keeper: KeyKeeper, Id(id): Id) -> PageResult {
    let record = keeper.find(&id).await?;
    key_page(&keeper, record, None, None).await
}

/// PostgreSQL rejects a text with a zero byte.
pub(super) fn is_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

async fn key_page(
    keeper: &KeyKeeper,
    record: KeyRecord,
    typed: Option<Fields>,
    refusal: Option<Refusal>,
) -> PageResult {
    let (frame, status) = keeper.form_frame(&record.key.name, keeper.base(), refusal);
    let page = KeyPage {
        frame,
        base: keeper.base(),
        is_all: keeper.who.bounds.is_none(),
        form: typed.unwrap_or_else(|| fields::of_key(&record.key.name, record.limits)),
        is_open: !is_over(&record) && keeper.can_change(&record),
        overlaps: OVERLAPS,
        row: rows(keeper, vec![record]).await?.remove(0),
    };
    page::show_as(status, &page)
}

pub(super) async fn change(keeper: KeyKeeper, Id(id): Id, request: Request) -> PageResult {
    let fields = keeper.submitted(request).await?;
    let record = keeper.find_open(&id).await?;
    match changed(&keeper, &record, &fields).await {
        Ok(()) => Ok(redirect(&format!("{}/{id}?done=key-changed", keeper.base()))),
        Err(error) => key_page(&keeper, record, Some(fields), Some(error.refusal()?)).await,
    }
}

async fn changed(keeper: &KeyKeeper, record: &KeyRecord, fields: &Fields) -> PageResult<()> {
    let limits = fields::limits(fields)?;
    keeper.check(limits, record)?;
    let change = KeyChange {
        name: Some(fields.get("name").to_owned()),
        limits: LimitsChange::to(limits),
        ..KeyChange::default()
    };
    keeper.operator().change_key(&record.key.id, change).await?;
    // Keys of the same lineage share the limits.
    keeper.service.identities.forget_all();
    Ok(())
}

pub(super) async fn rotate(keeper: KeyKeeper, Id(id): Id, request: Request) -> PageResult {
    let headers = request.headers().clone();
    let fields = keeper.submitted(request).await?;
    let record = keeper.find_open(&id).await?;
    let overlap = match fields::number(&fields, "overlap") {
        Ok(seconds) => Duration::from_secs(seconds.unwrap_or_default().into()),
        Err(refusal) => return key_page(&keeper, record, None, Some(refusal)).await,
    };
    let rotated =
        keeper.operator().rotate_key(&keeper.service.identities.hasher, &id, overlap).await;
    keeper.service.identities.forget(&id);
    let issued = match rotated {
        Ok(issued) => issued,
        Err(error) => return not_done(&keeper, &id, error.into()).await,
    };
    let mut response = show_secret(&keeper, keeper.base(), &issued, "The key is rotated.")?;
    if keeper.session.key.as_ref() == Some(&id) {
        // The session continues with the new key.
        let caller = keeper.service.identities.signed_in(&issued.record.key.id).await?;
        let (service, info) = (&keeper.service, &keeper.info);
        let cookie = start_session(service, info, &headers, Some(&caller)).await?;
        response.headers_mut().append(SET_COOKIE, cookie);
        keeper.store().end_session(keeper.session.member, keeper.session.hash).await?;
    }
    Ok(response)
}

pub(super) async fn revoke(keeper: KeyKeeper, Id(id): Id, request: Request) -> PageResult {
    keeper.submitted(request).await?;
    keeper.find_open(&id).await?;
    let revoked = keeper.operator().revoke_key(&id).await;
    keeper.service.identities.forget(&id);
    match revoked {
        Ok(_) => Ok(redirect(&format!("{}/{id}?done=key-revoked", keeper.base()))),
        Err(error) => not_done(&keeper, &id, error.into()).await,
    }
}

/// The current page of a key, with the reason why it was not rotated or revoked.
async fn not_done(keeper: &KeyKeeper, id: &str, error: PageError) -> PageResult {
    let refusal = error.refusal()?.conflict();
    let record = keeper.find(id).await?;
    key_page(keeper, record, None, Some(refusal)).await
}
