//! Receipts: the charges and payments of a member, newest first, and one of them.

use std::borrow::Cow;

use askama::Template;
use gateway_store::{RelatedReceipts, StatementLine};
use ledger::{ChargeRule, HoldId, Micros, PostingKind, Receipt, Time};
use pages::Frame;
use wire::account::AttemptView;

use super::super::Id;
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

/// Reads items in batches until a page of them matches. Returns their rows, and the cursor of the
/// next page.
async fn search<T, C, R>(
    mut before: C,
    batch: u32,
    read: impl Fn(C) -> R,
    cursor: impl Fn(&T) -> C,
    matches: impl Fn(&T) -> bool,
) -> PageResult<(Vec<ReceiptRow>, Option<C>)>
where
    T: Into<ReceiptRow>,
    C: Copy,
    R: Future<Output = Result<Vec<T>, gateway_store::Error>>,
{
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
                found.push(item.into());
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
    let words = query.to_lowercase();
    let has_words = |texts: &[Option<&str>]| {
        let is_in = |text: &&str| text.to_lowercase().contains(&words);
        words.is_empty() || texts.iter().flatten().any(is_in)
    };
    let (store, member) = (context.store(), context.who.caller.key.member);
    let (rows, next) = if kind == TEAM {
        let before = HoldId::parse(context.param("before"));
        let read = |before| store.team_receipts(member, before, BATCH);
        let matches = |it: &Receipt| has_words(&[Some(&it.operation), it.model.as_deref()]);
        let (rows, next) = search(before, BATCH, read, |it| Some(it.id), matches).await?;
        (rows, next.flatten().map(|id| id.to_string()))
    } else {
        let before = context.before().unwrap_or(i64::MAX);
        let is_all = query.is_empty() && kind == "all";
        let batch = if is_all { u32::try_from(PAGE + 1).unwrap_or(BATCH) } else { BATCH };
        let read = |before| store.statement(member, before, batch);
        let matches = |line: &StatementLine| {
            let posting = &line.posting;
            let texts = [&line.operation, &line.model, &posting.reason, &posting.reference];
            (kind == "all" || posting.kind.as_str() == kind)
                && has_words(&texts.map(|text| text.as_deref()))
        };
        let (rows, next) = search(before, batch, read, |line| line.id, matches).await?;
        (rows, next.map(|id| id.to_string()))
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
