//! The ledger and its check.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use gateway_store::LedgerCheck;
use http::Request;
use ledger::Micros;
use pages::{Frame, credits};

use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageError};
use crate::failure::ApiError;
use crate::operator::Operator;

#[derive(Template)]
#[template(path = "console/operator/ledger.html")]
struct LedgerPage {
    frame: Frame,
    csrf: String,
    check: Option<CheckView>,
}

struct CheckView {
    is_good: bool,
    members: String,
    postings: String,
    holds: String,
    members_total: String,
    sum: String,
    house: Vec<(String, String)>,
    wrong: u64,
    findings: Vec<(String, String, i64, i64)>,
}

pub(in crate::endpoints) async fn show(context: OperatorContext) -> Result<Response, PageError> {
    ledger_page(&context, None)
}

/// Checks the whole ledger. It reads every posting, so that it runs only when it is asked for.
pub(in crate::endpoints) async fn check(
    context: OperatorContext,
    request: Request<Body>,
) -> Result<Response, PageError> {
    context.submitted(request).await?;
    let operator = Operator { store: context.store(), by: &context.by };
    let check = operator.check_ledger(context.config.alerts.as_ref()).await;
    let check = check.map_err(|error| PageError::from(ApiError::from(error)))?;
    ledger_page(&context, Some(check_view(check)))
}

fn ledger_page(context: &OperatorContext, check: Option<CheckView>) -> Result<Response, PageError> {
    let frame = context.frame("Ledger", "/operator/ledger");
    page::show(&LedgerPage { frame, csrf: context.csrf(), check })
}

fn check_view(check: LedgerCheck) -> CheckView {
    let house = check.house.iter().map(|(name, total)| (name.clone(), credits(total.get())));
    let findings = check.findings.into_iter();
    CheckView {
        is_good: check.wrong == 0 && check.sum == Micros::ZERO,
        members: pages::count(check.members),
        postings: pages::count(check.postings),
        holds: pages::count(check.holds),
        members_total: credits(check.members_total.get()),
        sum: credits(check.sum.get()),
        house: house.collect(),
        wrong: check.wrong,
        findings: findings.map(|it| (it.what, it.figure, it.stored, it.added_up)).collect(),
    }
}
