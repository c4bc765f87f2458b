//! Receipts: the charges and payments of a member, newest first, and one of them.

use std::borrow::Cow;

use askama::Template;
use gateway_store::{RelatedReceipts, StatementLine, Store};
use ledger::{ChargeRule, HoldId, MemberId, Micros, PostingKind, Receipt, Time};
use pages::Frame;
use wire::account::AttemptView;

use super::super::path::Id;
use super::context::MemberContext;
use super::filters;
use super::page::{self, PageError, PageResult, Pager, redirect};
use crate::billing::attempts;

const PAGE: usize = 25;
/// Maximum postings that one search reads.
const MAX_SEARCHED: usize = 5000;
const BATCH: u32 = 500;

#[derive(Template)]
#[template(path = "console/receipts.html")]
struct ReceiptsPage<'a> {
    frame: Frame,
    rows: Vec<ReceiptRow>,
    query: &'a str,
    kind: &'a str,
    kinds: &'static [(&'static str, &'static str)],
    pager: Pager,
    is_filtered: bool,
}

pub(super) struct ReceiptRow {
    pub(super) at: Time,
    /// The operation, or the kind of payment.
    pub(super) what: Cow<'static, str>,
    /// The model, or the reason of a payment.
    pub(super) detail: String,
    pub(super) amount: Micros,
    /// `None` if the team paid.
    pub(super) balance: Option<Micros>,
    /// `None` for a payment.
    pub(super) request: Option<HoldId>,
}

/// A charge of a team.
impl From<Receipt> for ReceiptRow {
    fn from(receipt: Receipt) -> Self {
        Self {
            at: receipt.at,
            what: receipt.operation,
            detail: receipt.model.as_deref().unwrap_or_default().to_owned(),
            amount: Micros::new(-receipt.charged.get()),
            balance: None,
            request: Some(receipt.id),
        }
    }
}

impl From<StatementLine> for ReceiptRow {
    fn from(line: StatementLine) -> Self {
        let posting = line.posting;
        Self {
            at: posting.at,
            what: match posting.kind {
                PostingKind::Charge => line.operation.unwrap_or_default().into(),
                PostingKind::TopUp => "top-up".into(),
                PostingKind::Adjustment => "adjustment".into(),
            },
            detail: line.model.or(posting.reason).unwrap_or_default(),
            amount: posting.amount,
            balance: Some(posting.balance),
            request: posting.hold,
        }
    }
}

const TEAM: &str = "team";

const KINDS: &[(&str, &str)] = &[
    ("all", "Everything"),
    (TEAM, "Paid by your team"),
    ("charge", "Charges"),
    ("top_up", "Top-ups"),
    ("adjustment", "Adjustments"),
];

struct Search<'a> {
    words: String,
    kind: &'a str,
}

impl Search<'_> {
    fn matches(&self, line: &StatementLine) -> bool {
        let posting = &line.posting;
        let texts = [&line.operation, &line.model, &posting.reason, &posting.reference];
        let has_words = || {
            let is_in = |text: &String| text.to_lowercase().contains(&self.words);
            texts.into_iter().flatten().any(is_in)
        };
        (self.kind == "all" || posting.kind.as_str() == self.kind)
            && (self.words.is_empty() || has_words())
    }

    fn matches_receipt(&self, receipt: &Receipt) -> bool {
        let is_in = |text: &str| text.to_lowercase().contains(&self.words);
        let has_words = || is_in(&receipt.operation) || receipt.model.as_deref().is_some_and(is_in);
        self.words.is_empty() || has_words()
    }

    /// A page of the matching rows, and the cursor of the next page.
    async fn run(
        &self,
        store: &Store,
        member: MemberId,
        before: i64,
    ) -> PageResult<(Vec<StatementLine>, Option<i64>)> {
        let is_all = self.words.is_empty() && self.kind == "all";
        let batch = if is_all { u32::try_from(PAGE + 1).unwrap_or(BATCH) } else { BATCH };
        let read = |before| store.statement(member, before, batch);
        search(before, batch, read, |line| line.id, |line| self.matches(line)).await
    }

    async fn run_on_team(
        &self,
        store: &Store,
        member: MemberId,
        before: Option<HoldId>,
    ) -> PageResult<(Vec<Receipt>, Option<HoldId>)> {
        let read = |before| store.team_receipts(member, before, BATCH);
        let (cursor, matches) =
            (|it: &Receipt| Some(it.id), |it: &Receipt| self.matches_receipt(it));
        let (found, next) = search(before, BATCH, read, cursor, matches).await?;
        Ok((found, next.flatten()))
    }
}

/// Reads items in batches until a page of them matches. Returns them, and the cursor of the next
/// page.
async fn search<T, C: Copy, R: Future<Output = Result<Vec<T>, gateway_store::Error>>>(
    mut before: C,
    batch: u32,
    read: impl Fn(C) -> R,
    cursor: impl Fn(&T) -> C,
    matches: impl Fn(&T) -> bool,
) -> PageResult<(Vec<T>, Option<C>)> {
    let (mut found, mut searched) = (Vec::new(), 0);
    while searched < MAX_SEARCHED {
        let items = read(before).await?;
        let is_last = items.len() < usize::try_from(batch).unwrap_or(usize::MAX);
        searched += items.len();
        for item in items {
            if found.len() == PAGE {
                return Ok((found, Some(before)));
            }
            before = cursor(&item);
            if matches(&item) {
                found.push(item);
            }
        }
        if is_last {
            return Ok((found, None));
        }
    }
    Ok((found, Some(before)))
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    let query = context.param("q");
    let kind = match context.param("kind") {
        "" if context.team.is_some() => TEAM,
        "" => "all",
        kind => kind,
    };
    if HoldId::parse(query).is_some() {
        return Ok(redirect(&format!("/receipts/{query}")));
    }
    let search = Search { words: query.to_lowercase(), kind };
    let (store, member) = (context.store(), context.who.caller.key.member);
    let (rows, next) = if kind == TEAM {
        let before = HoldId::parse(context.param("before"));
        let (found, next) = search.run_on_team(store, member, before).await?;
        (found.into_iter().map(ReceiptRow::from).collect(), next.map(|id| id.to_string()))
    } else {
        let before = context.before().unwrap_or(i64::MAX);
        let (lines, next) = search.run(store, member, before).await?;
        (lines.into_iter().map(ReceiptRow::from).collect(), next.map(|next| next.to_string()))
    };
    page::show(&ReceiptsPage {
        frame: context.frame("Receipts", "/receipts"),
        rows,
        query,
        kind,
        kinds: KINDS,
        pager: context.pager_to(next),
        is_filtered: !query.is_empty() || !matches!(kind, "all" | TEAM),
    })
}

#[derive(Template)]
#[template(path = "console/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    receipt: Receipt,
    related: RelatedReceipts,
    attempts: Vec<AttemptView>,
}

pub(super) async fn show(context: MemberContext, Id(id): Id) -> PageResult {
    let found = match HoldId::parse(&id) {
        Some(id) => context.store().receipt(Some(context.who.caller.key.member), id).await?,
        None => None,
    };
    let receipt = found.ok_or_else(|| {
        PageError::new(http::StatusCode::NOT_FOUND, "No request of yours with this id has ended.")
    })?;
    page::show(&ReceiptPage {
        frame: context.frame("Receipt", "/receipts"),
        related: context.store().related_receipts(receipt.id).await?,
        attempts: attempts(&receipt),
        receipt,
    })
}

fn meaning(rule: ChargeRule) -> &'static str {
    match rule {
        ChargeRule::Answered => "The answer was complete.",
        ChargeRule::ClientLeftLate => "You disconnected after the model had begun to answer.",
        ChargeRule::ClientLeftEarly => "You disconnected before the model had begun to answer.",
        ChargeRule::CancelledLate => "You cancelled after the work had begun.",
        ChargeRule::Cancelled => "You cancelled before the work had begun.",
        ChargeRule::StreamLimit => "The answer reached the time limit of streams.",
        ChargeRule::UpstreamFailed => "No provider gave a complete answer.",
        ChargeRule::RequestRefused => "The provider rejected the request.",
        ChargeRule::EmptyAnswer => "The answer was empty.",
        ChargeRule::OurFault => "The service failed.",
        ChargeRule::Expired => "The service stopped before the request ended.",
    }
}
