//! The first page of a member: balance, spend, recent receipts.

use askama::Template;
use ledger::BudgetStatus;
use pages::{Frame, Html};

use super::super::me::MemberState;
use super::context::MemberContext;
use super::page::{self, PageResult};
use super::receipts::ReceiptRow;
use super::{filters, usage};

const RECENT: u32 = 8;

#[derive(Template)]
#[template(path = "console/overview.html")]
struct OverviewPage {
    frame: Frame,
    state: MemberState,
    budgets: Vec<BudgetStatus>,
    recent: Vec<ReceiptRow>,
    usage: Html,
}

pub(super) async fn show(context: MemberContext) -> PageResult {
    let (store, member) = (context.store(), context.who.caller.key.member);
    let state = MemberState::load(store, &context.who.caller).await?;
    let recent = if state.team.is_some() {
        let receipts = store.team_receipts(member, None, RECENT).await?;
        receipts.into_iter().map(ReceiptRow::from).collect()
    } else {
        let lines = store.statement(member, i64::MAX, RECENT).await?;
        lines.into_iter().map(ReceiptRow::from).collect()
    };
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/"),
        budgets: state.budgets(&context.service.billing.windows()),
        state,
        recent,
        usage: usage::recent(&context).await?,
    })
}
