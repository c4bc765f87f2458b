//! Alerts and their deliveries.

use askama::Template;
use axum::extract::Request;
use gateway_store::AlertDelivery;
use http::StatusCode;
use pages::{Frame, Html};

use crate::clock;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageResult, redirect, refusal};

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "console/operator/alerts.html")]
struct AlertsPage {
    frame: Frame,
    csrf: String,
    is_on: bool,
    rows: Vec<AlertRow>,
}

struct AlertRow {
    at: Html,
    message: String,
    kind: String,
    channel: String,
    state: Html,
    error: String,
}

pub(super) async fn list(context: OperatorContext) -> PageResult {
    alerts_page(&context, StatusCode::OK, None).await
}

pub(super) async fn test(context: OperatorContext, request: Request) -> PageResult {
    context.submitted(request).await?;
    match context.operator().test_alert(context.config.alerts.as_ref()).await {
        Ok(_) => Ok(redirect("/operator/alerts?done=alert-stored")),
        Err(error) => {
            let notice = page::refused(refusal(error)?.message);
            alerts_page(&context, StatusCode::CONFLICT, Some(notice)).await
        }
    }
}

async fn alerts_page(
    context: &OperatorContext,
    status: StatusCode,
    notice: Option<pages::Notice>,
) -> PageResult {
    let rows = context.store().alerts(i64::MAX, PAGE).await?;
    let mut frame = context.frame("Alerts", "/operator/alerts");
    frame.notice = notice.or(frame.notice);
    let page = AlertsPage {
        frame,
        csrf: context.csrf(),
        is_on: context.config.alerts.is_some(),
        rows: rows.into_iter().map(row).collect(),
    };
    page::show_as(status, &page)
}

fn row(delivery: AlertDelivery) -> AlertRow {
    let AlertDelivery { alert, channel, tries, outcome, error } = delivery;
    let state = match (outcome.as_deref(), tries) {
        _ if channel.is_none() => pages::tag("plain", "no channel"),
        (Some("delivered"), _) => pages::tag("good", "delivered"),
        (Some(_), _) => pages::tag("bad", "given up"),
        (None, 0) => pages::tag("plain", "pending"),
        (None, _) => pages::tag("warn", "failed, will be repeated"),
    };
    AlertRow {
        at: pages::moment(alert.at.micros(), clock::now().micros()),
        message: alert.message,
        kind: alert.kind,
        channel: channel.unwrap_or_default(),
        state,
        error,
    }
}
