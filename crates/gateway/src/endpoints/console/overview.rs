//! The first page of a member: balance, spend, recent receipts.

use askama::Template;
use pages::{Frame, Html, credits};

use super::super::me::TeamState;
use super::budget::BudgetCard;
use super::context::MemberContext;
use super::page::{self, PageError, PageResult};
use super::receipts::{self, ReceiptRow};
use super::usage;
use crate::clock;

const RECENT: u32 = 8;

#[derive(Template)]
#[template(path = "console/overview.html")]
struct OverviewPage {
    frame: Frame,
    available: String,
    balance: String,
    held: String,
    today: String,
    today_requests: String,
    month: String,
    month_requests: String,
    limit: Option<KeyLimit>,
    budgets: Vec<BudgetCard>,
    recent: Vec<ReceiptRow>,
    is_empty: bool,
    usage: Html,
    team: Option<TeamCard>,
}

struct TeamCard {
    name: String,
    available: String,
    balance: String,
    held: String,
}

struct KeyLimit {
    spent: String,
    limit: String,
    percent: i64,
}

pub(super) async fn show(context: MemberContext) -> PageResult {
    let (store, member) = (context.store(), context.caller.key.member);
    let account = store.account(member).await?.ok_or_else(|| PageError::missing("member"))?;
    let lineage = store.lineage(context.caller.key.lineage).await?;
    let team = TeamState::find(store, &account).await?;
    let recent = if team.is_some() {
        receipts::rows_of_team(store.team_receipts(member, None, RECENT).await?)
    } else {
        receipts::rows(store.statement(member, i64::MAX, RECENT).await?)
    };
    let own = || account.usage.at(clock::now());
    let periods = team.as_ref().map_or_else(own, |team| team.usage);
    let windows = context.billing.windows();
    let of_key = lineage.as_ref().and_then(|lineage| lineage.budget_status(&windows));
    let of_team = team.as_ref().and_then(|team| team.account.budget_status(&windows));
    let budgets = [of_key, account.budget_status(&windows), of_team];
    let limit = lineage.and_then(|lineage| {
        let (spent, limit) = (lineage.spent.get(), lineage.limits.spend?.get());
        let percent = if limit > 0 { i128::from(spent) * 100 / i128::from(limit) } else { 100 };
        let percent = i64::try_from(percent).unwrap_or(100).min(100);
        Some(KeyLimit { spent: credits(spent), limit: credits(limit), percent })
    });
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/"),
        available: credits(account.available().get()),
        balance: credits(account.balance.get()),
        held: credits(account.held.get()),
        today: credits(periods.day.charged.get()),
        today_requests: pages::count(periods.day.requests.unsigned_abs()),
        month: credits(periods.month.charged.get()),
        month_requests: pages::count(periods.month.requests.unsigned_abs()),
        limit,
        budgets: budgets.iter().flatten().map(BudgetCard::new).collect(),
        is_empty: recent.is_empty(),
        recent,
        usage: usage::recent(&context).await?,
        team: team.map(|team| TeamCard {
            name: team.name,
            available: credits(team.account.available().get()),
            balance: credits(team.account.balance.get()),
            held: credits(team.account.held.get()),
        }),
    })
}
