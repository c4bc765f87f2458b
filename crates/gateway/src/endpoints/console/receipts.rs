//! Receipts: the charges and payments of a member, newest first, and one of them.

use askama::Template;
use axum::response::Response;
use gateway_store::{RelatedReceipts, StatementLine, Store};
use ledger::{ChargeRule, HoldId, MemberId, PostingKind, Receipt};
use pages::{Frame, Html, credits};
use wire::account::AttemptView;

use super::super::path::Id;
use super::context::MemberContext;
use super::page::{self, PageError, redirect};
use crate::billing::attempts;
use crate::clock;

const PAGE: usize = 25;
/// Postings that one search looks at.
const MAX_SEARCHED: usize = 5000;
/// Postings that are read at once.
const BATCH: u32 = 500;

#[derive(Template)]
#[template(path = "console/receipts.html")]
struct ReceiptsPage {
    frame: Frame,
    rows: Vec<ReceiptRow>,
    query: String,
    kind: String,
    kinds: &'static [(&'static str, &'static str)],
    /// The cursor of the next page; empty for none.
    next: String,
    is_first: bool,
    is_filtered: bool,
}

/// A line of a statement.
pub(super) struct ReceiptRow {
    pub(super) at: Html,
    /// The operation, or the kind of payment.
    pub(super) what: String,
    /// The model, or the reason of a payment.
    pub(super) detail: String,
    pub(super) amount: String,
    pub(super) balance: String,
    pub(super) is_credit: bool,
    /// The id of the request; empty for a payment.
    pub(super) request: String,
}

/// The word for receipts that a team paid.
const TEAM: &str = "team";

/// The kinds of lines to choose from.
const KINDS: &[(&str, &str)] = &[
    ("all", "Everything"),
    (TEAM, "Paid by your team"),
    ("charge", "Charges"),
    ("top_up", "Top-ups"),
    ("adjustment", "Adjustments"),
];

/// Receipts that a team paid.
pub(super) fn rows_of_team(receipts: Vec<Receipt>) -> Vec<ReceiptRow> {
    let now = clock::now().micros();
    let row = |receipt: Receipt| ReceiptRow {
        at: pages::moment(receipt.at.micros(), now),
        what: receipt.operation.replace('_', " "),
        detail: receipt.model.as_deref().unwrap_or_default().to_owned(),
        amount: credits(-receipt.charged.get()),
        balance: String::new(),
        is_credit: false,
        request: receipt.id.to_string(),
    };
    receipts.into_iter().map(row).collect()
}

pub(super) fn rows(lines: Vec<StatementLine>) -> Vec<ReceiptRow> {
    let now = clock::now().micros();
    lines.into_iter().map(|line| row(line, now)).collect()
}

fn row(line: StatementLine, now: i64) -> ReceiptRow {
    let posting = line.posting;
    let what = match posting.kind {
        PostingKind::Charge => line.operation.unwrap_or_default().replace('_', " "),
        PostingKind::TopUp => "top-up".to_owned(),
        PostingKind::Adjustment => "adjustment".to_owned(),
    };
    let amount = posting.amount.get();
    ReceiptRow {
        at: pages::moment(posting.at.micros(), now),
        what,
        detail: line.model.or(posting.reason).unwrap_or_default(),
        amount: if amount > 0 { format!("+{}", credits(amount)) } else { credits(amount) },
        balance: credits(posting.balance.get()),
        is_credit: amount > 0,
        request: posting.hold.map(|hold| hold.to_string()).unwrap_or_default(),
    }
}

/// A search in the statement of a member.
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

    /// A page of the lines that match, and the cursor of the next page.
    async fn run(
        &self,
        store: &Store,
        member: MemberId,
        before: i64,
    ) -> Result<(Vec<StatementLine>, Option<i64>), PageError> {
        let is_all = self.words.is_empty() && self.kind == "all";
        let batch = if is_all { u32::try_from(PAGE + 1).unwrap_or(BATCH) } else { BATCH };
        let read = |before| store.statement(member, before, batch);
        search(before, batch, read, |line| line.id, |line| self.matches(line)).await
    }

    /// The same for the receipts that a team paid.
    async fn run_on_team(
        &self,
        store: &Store,
        member: MemberId,
        before: Option<HoldId>,
    ) -> Result<(Vec<Receipt>, Option<HoldId>), PageError> {
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
) -> Result<(Vec<T>, Option<C>), PageError> {
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

pub(super) async fn list(context: MemberContext) -> Result<Response, PageError> {
    let query = context.param("q");
    let kind = match context.param("kind") {
        "" if context.team.is_some() => TEAM,
        "" => "all",
        kind => kind,
    };
    if HoldId::parse(query).is_some() {
        return Ok(redirect(&format!("/receipts/{query}")));
    }
    let before = context.param("before");
    let search = Search { words: query.to_lowercase(), kind };
    let (store, member) = (context.store(), context.caller.key.member);
    let (rows, next) = if kind == TEAM {
        let (found, next) = search.run_on_team(store, member, HoldId::parse(before)).await?;
        (rows_of_team(found), next.map(|id| id.to_string()))
    } else {
        let start = before.parse().ok().filter(|&start: &i64| start > 0).unwrap_or(i64::MAX);
        let (lines, next) = search.run(store, member, start).await?;
        (rows(lines), next.map(|next| next.to_string()))
    };
    page::show(&ReceiptsPage {
        frame: context.frame("Receipts", "/receipts"),
        rows,
        query: query.to_owned(),
        kind: kind.to_owned(),
        kinds: KINDS,
        next: next.unwrap_or_default(),
        is_first: before.is_empty(),
        is_filtered: !query.is_empty() || !matches!(kind, "all" | TEAM),
    })
}

#[derive(Template)]
#[template(path = "console/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    id: String,
    operation: String,
    model: String,
    charged: String,
    rule: &'static str,
    meaning: &'static str,
    outcome: Html,
    input: String,
    output: String,
    started: String,
    ended: String,
    took: String,
    attempts: Vec<AttemptRow>,
    /// The request that this one belongs to; empty if there is none.
    parent: String,
    children: Vec<ChildRow>,
    is_paid_by_team: bool,
}

/// An upstream that was asked.
struct AttemptRow {
    model: String,
    outcome: String,
    took: String,
}

/// A request that belongs to this one.
struct ChildRow {
    id: String,
    operation: String,
    charged: String,
    meaning: &'static str,
}

pub(super) async fn show(context: MemberContext, Id(id): Id) -> Result<Response, PageError> {
    let found = match HoldId::parse(&id) {
        Some(id) => context.store().receipt(Some(context.caller.key.member), id).await?,
        None => None,
    };
    let receipt = found.ok_or_else(|| {
        PageError::new(http::StatusCode::NOT_FOUND, "No request of yours with this id has ended.")
    })?;
    let related = context.store().related_receipts(receipt.id).await?;
    page::show(&receipt_page(context.frame("Receipt", "/receipts"), &receipt, related))
}

fn receipt_page(frame: Frame, receipt: &Receipt, related: RelatedReceipts) -> ReceiptPage {
    let child = |receipt: Receipt| ChildRow {
        id: receipt.id.to_string(),
        operation: receipt.operation.replace('_', " "),
        charged: credits(receipt.charged.get()),
        meaning: meaning(receipt.rule),
    };
    let attempt = |it: AttemptView| AttemptRow {
        model: it.model,
        outcome: it.outcome.replace('_', " "),
        took: format!("{} ms", pages::count(it.took_ms)),
    };
    let tokens = |count: Option<i64>| {
        count.map_or("unknown".to_owned(), |count| pages::count(count.unsigned_abs()))
    };
    let is_charged = receipt.charged.get() > 0;
    ReceiptPage {
        frame,
        id: receipt.id.to_string(),
        operation: receipt.operation.replace('_', " "),
        model: receipt.model.as_deref().unwrap_or("none").to_owned(),
        charged: credits(receipt.charged.get()),
        rule: receipt.rule.as_str(),
        meaning: meaning(receipt.rule),
        outcome: if is_charged {
            pages::tag("plain", "charged")
        } else {
            pages::tag("good", "free")
        },
        input: tokens(receipt.tokens.input),
        output: tokens(receipt.tokens.output),
        started: pages::exact_time(receipt.since.micros()),
        ended: pages::exact_time(receipt.at.micros()),
        took: pages::duration(receipt.at.micros() - receipt.since.micros()),
        attempts: attempts(receipt).into_iter().map(attempt).collect(),
        parent: related.parent.map(|id| id.to_string()).unwrap_or_default(),
        children: related.children.into_iter().map(child).collect(),
        is_paid_by_team: receipt.payer != receipt.member,
    }
}

/// A rule in words.
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
