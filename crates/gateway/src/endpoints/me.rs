//! `GET /v1/me`, `GET /v1/me/usage` and `GET /v1/requests/{id}`: the account of a caller, its usage, and
//! receipts.

use axum::extract::RawQuery;
use gateway_store::{KeyRecord, RelatedReceipts, Store};
use ledger::{
    Account, BudgetStatus, HoldId, Lineage, Micros, Receipt, Usage, UsagePeriod, Windows,
};
use wire::account::{ChildReceipt, KeyView, Me, PeriodView, ReceiptView, TeamAccount, UsageView};
use wire::error::Code;

use super::admission::{MemberRead, ReadAccess};
use super::{Id, json};
use crate::billing::attempts;
use crate::budget;
use crate::clock;
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::usage::UsageOrder;

const ACCESS: ReadAccess = ReadAccess { scope: None, operation: Operation::Me };

pub(super) async fn show(read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let billing = &read.service.billing;
        let state = MemberState::load(&billing.store, caller).await?;
        Ok(json(&me(caller, &state, &billing.windows())))
    })
    .await
}

pub(super) async fn usage(RawQuery(query): RawQuery, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let mut order = UsageOrder { member: Some(caller.key.member), ..UsageOrder::default() };
        read_usage_query(&mut order, query.as_deref(), |_, _| Ok(false))?;
        Ok(json(&order.answer(&read.service.billing.store, clock::now()).await?))
    })
    .await
}

/// Reads the parameters of a usage query; `other` reads further ones.
pub(super) fn read_usage_query(
    order: &mut UsageOrder,
    query: Option<&str>,
    mut other: impl FnMut(&mut UsageOrder, (&str, &str)) -> ApiResult<bool>,
) -> ApiResult<()> {
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "from" => order.from = Some(value.into_owned()),
            "to" => order.to = Some(value.into_owned()),
            "by" => order.by = Some(value.into_owned()),
            // A non-numeric value is out of range.
            "limit" => order.limit = Some(value.parse().unwrap_or_default()),
            name if other(order, (name, &value))? => {}
            name => return Err(ApiError::unknown_parameter(name)),
        }
    }
    Ok(())
}

pub(super) async fn receipt(Id(id): Id, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let missing = || ApiError::new(Code::NotFound, "no completed request with this id");
        let id = HoldId::parse(&id).ok_or_else(missing)?;
        let store = &read.service.billing.store;
        let found = store.receipt(Some(caller.key.member), id).await?;
        let receipt = found.ok_or_else(missing)?;
        Ok(json(&receipt_view(&receipt, store.related_receipts(id).await?)))
    })
    .await
}

/// The accounts of a member and of its team, and the lineage of its key.
pub(super) struct MemberState {
    pub(super) account: Account,
    pub(super) lineage: Lineage,
    /// The name and the account of the team.
    pub(super) team: Option<(String, Account)>,
    /// Answered requests of the member, also those that a team paid.
    pub(super) usage: Usage,
}

impl MemberState {
    pub(super) async fn load(store: &Store, caller: &KeyRecord) -> ApiResult<Self> {
        let account = store.account(caller.key.member).await?.ok_or_else(ApiError::no_key)?;
        let lineage = store.lineage(caller.key.lineage).await?.ok_or_else(ApiError::no_key)?;
        let (mut usage, mut team) = (account.usage.at(clock::now()), None);
        if let Some(id) = account.team
            && let Some(team_account) = store.account(id).await?
        {
            usage = crate::usage::current(store, account.id, clock::now()).await?;
            let name = store.member_names(&[id]).await?.remove(&id);
            team = Some((name.unwrap_or_default(), team_account));
        }
        Ok(Self { account, lineage, team, usage })
    }

    /// The budgets of the key, the member and the team.
    pub(super) fn budgets(&self, windows: &Windows) -> Vec<BudgetStatus> {
        let of_team = self.team.as_ref().and_then(|(_, team)| team.budget_status(windows));
        let all =
            [self.lineage.budget_status(windows), self.account.budget_status(windows), of_team];
        all.into_iter().flatten().collect()
    }
}

fn me(caller: &KeyRecord, state: &MemberState, windows: &Windows) -> Me {
    let MemberState { account, lineage, team, usage } = state;
    let team_view = |(name, team): &(String, Account)| TeamAccount {
        id: team.id.to_string(),
        name: name.clone(),
        balance_micros: team.balance.get(),
        held_micros: team.held.get(),
        available_micros: team.available().get(),
        budget: team.budget_status(windows).as_ref().map(budget::view),
    };
    Me {
        object: "member".to_owned(),
        id: account.id.to_string(),
        name: caller.member_name.clone(),
        role: caller.role.as_str().to_owned(),
        team: team.as_ref().map(team_view),
        balance_micros: account.balance.get(),
        held_micros: account.held.get(),
        available_micros: account.available().get(),
        key: KeyView {
            id: caller.key.id.clone(),
            name: caller.key.name.clone(),
            scopes: caller.key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            models: caller.key.models.clone(),
            expires_at: caller.key.expires_at.map(clock::rfc3339),
            spend_limit_micros: lineage.limits.spend.map(Micros::get),
            spent_micros: lineage.spent.get(),
            requests_per_minute: lineage.limits.requests_per_minute,
            concurrency: lineage.limits.concurrency,
        },
        usage: UsageView { today: period(&usage.day), month: period(&usage.month) },
        budgets: state.budgets(windows).iter().map(budget::view).collect(),
    }
}

fn period(period: &UsagePeriod) -> PeriodView {
    PeriodView { requests: period.requests, charged_micros: period.charged.get() }
}

pub(super) fn receipt_view(receipt: &Receipt, related: RelatedReceipts) -> ReceiptView {
    let child = |receipt: Receipt| ChildReceipt {
        id: receipt.id.to_string(),
        operation: receipt.operation.into_owned(),
        rule: receipt.rule.as_str().to_owned(),
        charge_micros: receipt.charged.get(),
    };
    ReceiptView {
        object: "receipt".to_owned(),
        id: receipt.id.to_string(),
        operation: receipt.operation.to_string(),
        model: receipt.model.as_deref().map(str::to_owned),
        outcome: receipt.rule.outcome().as_str().to_owned(),
        rule: receipt.rule.as_str().to_owned(),
        charge_micros: receipt.charged.get(),
        payer: receipt.payer.to_string(),
        started_at: clock::rfc3339(receipt.since),
        ended_at: clock::rfc3339(receipt.at),
        input_tokens: receipt.tokens.input,
        output_tokens: receipt.tokens.output,
        attempts: attempts(receipt),
        parent: related.parent.map(|id| id.to_string()),
        children: related.children.into_iter().map(child).collect(),
    }
}
