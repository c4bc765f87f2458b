//! Receipts, usage, the audit log, and the check of the ledger.

use axum::extract::RawQuery;
use gateway_store::{AuditEntry, LedgerCheck};
use ledger::{HoldId, MemberId};
use wire::admin::{AuditView, FindingView, HouseView, LedgerCheckView, MemberReceipt};

use super::{Admin, PageQuery, missing};
use crate::clock;
use crate::endpoints::me::{read_usage_query, receipt_view};
use crate::endpoints::{Id, json};
use crate::failure::{ApiError, ApiResult};
use crate::usage::UsageOrder;

pub(super) async fn receipt(admin: Admin, Id(id): Id) -> ApiResult {
    let id = HoldId::parse(&id).ok_or_else(|| missing("receipt"))?;
    let found = admin.store().receipt(None, id).await?.ok_or_else(|| missing("receipt"))?;
    let member = found.member.to_string();
    let related = admin.store().related_receipts(id).await?;
    Ok(json(&MemberReceipt { receipt: receipt_view(&found, related), member }))
}

pub(super) async fn audit(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let (page_query, before) = PageQuery::before(query.as_deref())?;
    let entries = admin.store().audit(before, page_query.one_more()).await?;
    Ok(json(&page_query.page(entries.iter().map(entry_view).collect())))
}

pub(super) async fn check(admin: Admin) -> ApiResult {
    let check = admin.operator().check_ledger(admin.service.config.alerts.as_ref()).await?;
    Ok(json(&check_view(&check)))
}

pub(super) async fn usage(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let mut order = UsageOrder::default();
    read_usage_query(&mut order, query.as_deref(), |order, (name, value)| {
        let account = match name {
            "member" => &mut order.member,
            "team" => &mut order.team,
            _ => return Ok(false),
        };
        let id = MemberId::parse(value).ok_or_else(|| {
            let message = format!("`{name}` must be the id of a {name}, `mem_<number>`");
            ApiError::invalid(name, message)
        })?;
        *account = Some(id);
        Ok(true)
    })?;
    Ok(json(&order.answer(admin.store(), clock::now()).await?))
}

pub(super) async fn rebuild_usage(admin: Admin) -> ApiResult {
    admin.store().rebuild_usage().await?;
    check(admin).await
}

fn entry_view(entry: &AuditEntry) -> AuditView {
    AuditView {
        id: entry.id,
        at: clock::rfc3339(entry.at),
        actor: entry.actor.name.clone(),
        request: entry.actor.request.clone(),
        action: entry.action.clone(),
        subject: entry.subject.clone(),
        detail: serde_json::from_str(&entry.detail).unwrap_or_default(),
        digest: entry.digest_text(),
    }
}

fn check_view(check: &LedgerCheck) -> LedgerCheckView {
    let house = check
        .house
        .iter()
        .map(|(account, total)| HouseView { account: account.clone(), total_micros: total.get() });
    let findings = check.findings.iter().map(|finding| FindingView {
        what: finding.what.clone(),
        figure: finding.figure.clone(),
        stored: finding.stored,
        added_up: finding.added_up,
    });
    LedgerCheckView {
        object: "ledger.check".to_owned(),
        ok: check.wrong == 0 && check.sum == ledger::Micros::ZERO,
        members: check.members,
        postings: check.postings,
        holds: check.holds,
        members_total_micros: check.members_total.get(),
        house: house.collect(),
        sum_micros: check.sum.get(),
        wrong: check.wrong,
        findings: findings.collect(),
    }
}
