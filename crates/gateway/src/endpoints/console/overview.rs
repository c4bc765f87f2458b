//! The first page of a member: balance, spend, recent receipts.

use askama::Template;
use ledger::{Account, BudgetStatus, Lineage, Usage};
use pages::{Frame, Html};

use super::super::me::TeamState;
use super::context::MemberContext;
use super::page::{self, PageError, PageResult};
use super::receipts::ReceiptRow;
use super::{filters, usage};
use crate::clock;

const RECENT: u32 = 8;

#[derive(Template)]
#[template(path = "console/overview.html")]
struct OverviewPage {
    frame: Frame,
    account: Account,
    team: Option<TeamState>,
    /// Usage of today and of this month.
    used: Usage,
    lineage: Option<Lineage>,
    budgets: Vec<BudgetStatus>,
    recent: Vec<ReceiptRow>,
    usage: Html,
}

pub(super) async fn show(context: MemberContext) -> PageResult {
    let (store, member) = (context.store(), context.who.caller.key.member);
    let account = store.account(member).await?.ok_or_else(|| PageError::missing("member"))?;
    let lineage = store.lineage(context.who.caller.key.lineage).await?;
    let team = TeamState::find(store, &account).await?;
    let recent = if team.is_some() {
        let receipts = store.team_receipts(member, None, RECENT).await?;
        receipts.into_iter().map(ReceiptRow::from).collect()
    } else {
        let lines = store.statement(member, i64::MAX, RECENT).await?;
        lines.into_iter().map(ReceiptRow::from).collect()
    };
    let windows = context.service.billing.windows();
    let of_key = lineage.as_ref().and_then(|lineage| lineage.budget_status(&windows));
    let of_team = team.as_ref().and_then(|team| team.account.budget_status(&windows));
    let budgets = [of_key, account.budget_status(&windows), of_team];
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/"),
        used: team.as_ref().map_or_else(|| account.usage.at(clock::now()), |team| team.usage),
        account,
        team,
        lineage,
        budgets: budgets.into_iter().flatten().collect(),
        recent,
        usage: usage::recent(&context).await?,
    })
}
