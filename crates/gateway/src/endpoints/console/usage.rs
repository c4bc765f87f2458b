//! Usage of a member, or of all: a chart by day, a table, and both as CSV.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::response::Response;
use gateway_store::Store;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, REFRESH};
use ledger::MemberId;
use pages::{BarChart, Frame, Html, Series, credits};
use tokio::sync::watch;
use tokio::time::timeout;
use wire::usage::{UsageEntry, UsageList, UsageSums};

use super::context::{ManagerContext, MemberContext, OperatorContext, PageContext};
use super::filters;
use super::page::{self, PageError, PageResult};
use crate::clock;
use crate::usage::{UsageOrder, day, day_text};

/// Ranges to choose from, in days.
const RANGES: [u16; 4] = [7, 30, 90, 365];
const DEFAULT_RANGE: u16 = 30;
/// Maximum named series; the rest are one.
const MAX_SERIES: usize = 7;
const MAX_ROWS: u32 = 200;
const MAX_LINES: u32 = 9999;
/// Maximum bars: three years and a few days.
const MAX_BARS: usize = 1100;

const OF_MEMBER: &[&str] = &["model", "key", "operation", "day"];
const OF_TEAM: &[&str] = &["member", "model", "operation", "day"];
const OF_ALL: &[&str] = &["member", "team", "model", "provider", "operation", "day"];
const MEASURES: &[&str] = &["credits", "requests", "tokens"];

#[derive(Template)]
#[template(path = "console/usage.html")]
struct UsagePage {
    frame: Frame,
    subject: Subject,
    view: View,
    chart: Html,
    /// `None` while it is being computed.
    table: Option<UsageList>,
}

impl UsagePage {
    /// Share of a row in the total, in percent.
    fn share(&self, sums: &UsageSums, total: &UsageSums) -> String {
        let all = measured(self.view.show, total).max(1);
        let tenths = i128::from(measured(self.view.show, sums)) * 1000 / i128::from(all);
        format!("{}.{} %", tenths / 10, tenths % 10)
    }
}

/// The view that the URL selects.
#[derive(Clone)]
struct View {
    by: &'static str,
    show: &'static str,
    /// 0 for a custom range.
    days: u16,
    from: String,
    to: String,
}

#[derive(Clone, Copy)]
struct Subject {
    path: &'static str,
    nav: &'static str,
    member: Option<MemberId>,
    team: Option<MemberId>,
    dimensions: &'static [&'static str],
}

impl Subject {
    fn of_member(context: &MemberContext) -> Self {
        let member = Some(context.who.caller.key.member);
        let path = "/usage";
        Self { path, nav: path, member, team: None, dimensions: OF_MEMBER }
    }

    fn of_team(context: &ManagerContext) -> Self {
        let team = Some(context.who.team);
        let (path, nav) = ("/team/usage", "/team");
        Self { path, nav, member: None, team, dimensions: OF_TEAM }
    }

    fn of_all() -> Self {
        let (path, dimensions) = ("/operator/usage", OF_ALL);
        Self { path, nav: path, member: None, team: None, dimensions }
    }

    async fn ask(self, store: &Store, view: &View, by: &str, limit: u32) -> PageResult<UsageList> {
        let order = UsageOrder {
            member: self.member,
            team: self.team,
            from: Some(view.from.clone()),
            to: Some(view.to.clone()),
            by: Some(by.to_owned()),
            limit: Some(limit),
        };
        Ok(order.answer(store, clock::now()).await?)
    }

    async fn page(self, context: &PageContext) -> PageResult {
        let view = View::read(context, self.dimensions);
        let table = self.ask(context.store(), &view, view.by, MAX_ROWS).await?;
        let lines = self.ask(context.store(), &view, &by_day(view.by), MAX_LINES).await?;
        let chart = chart(&view, &table, &lines);
        self.show(context, view, chart, Some(table))
    }

    /// The usage by member or team over all members, which may be slow to compute.
    async fn slow_page(self, context: &PageContext, view: View, slow: &SlowUsage) -> PageResult {
        let days = View { by: "day", ..view.clone() };
        let lines = self.ask(context.store(), &days, days.by, MAX_LINES).await?;
        let chart = chart(&days, &lines, &lines);
        let ask = {
            let (billing, view) = (Arc::clone(&context.service.billing), view.clone());
            async move { self.ask(&billing.store, &view, view.by, MAX_ROWS).await }
        };
        let name = format!("{} {} {}", view.by, view.from, view.to);
        let table = slow.get(name, ask).await?;
        let is_pending = table.is_none();
        let mut response = self.show(context, view, chart, table)?;
        if is_pending {
            response.headers_mut().insert(REFRESH, HeaderValue::from_static("2"));
        }
        Ok(response)
    }

    fn show(
        self,
        context: &PageContext,
        view: View,
        chart: Html,
        table: Option<UsageList>,
    ) -> PageResult {
        let frame = context.frame("Usage", self.nav);
        page::show(&UsagePage { frame, subject: self, view, chart, table })
    }

    async fn csv(self, context: &PageContext) -> PageResult {
        let view = View::read(context, self.dimensions);
        let list = self.ask(context.store(), &view, &by_day(view.by), MAX_LINES).await?;
        let mut text =
            format!("day,{},requests,input_tokens,output_tokens,charged_micros\n", view.by);
        for entry in &list.data {
            let sums = &entry.sums;
            text.push_str(&format!(
                "{},{},{},{},{},{}\n",
                entry.day.as_deref().unwrap_or_default(),
                cell(&name_of(view.by, entry)),
                sums.requests,
                sums.input_tokens,
                sums.output_tokens,
                sums.charged_micros
            ));
        }
        let mut response = Response::new(Body::from(text));
        pages::secure(response.headers_mut());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
        let file = HeaderValue::from_static("attachment; filename=\"usage.csv\"");
        headers.insert(CONTENT_DISPOSITION, file);
        Ok(response)
    }
}

pub(super) async fn show(context: MemberContext) -> PageResult {
    Subject::of_member(&context).page(&context).await
}

pub(super) async fn csv(context: MemberContext) -> PageResult {
    Subject::of_member(&context).csv(&context).await
}

pub(super) async fn show_all(
    context: OperatorContext,
    Extension(slow): Extension<Arc<SlowUsage>>,
) -> PageResult {
    let subject = Subject::of_all();
    match View::read(&context, subject.dimensions) {
        view if matches!(view.by, "member" | "team") => {
            subject.slow_page(&context, view, &slow).await
        }
        _ => subject.page(&context).await,
    }
}

pub(super) async fn csv_of_all(context: OperatorContext) -> PageResult {
    Subject::of_all().csv(&context).await
}

pub(super) async fn show_team(context: ManagerContext) -> PageResult {
    Subject::of_team(&context).page(&context).await
}

pub(super) async fn csv_of_team(context: ManagerContext) -> PageResult {
    Subject::of_team(&context).csv(&context).await
}

/// Requests and credits of each member of a team in the last days, by the id of the member.
pub(super) async fn of_members(context: &ManagerContext) -> PageResult<HashMap<String, UsageSums>> {
    let view = View::of_days("member", "credits", DEFAULT_RANGE);
    let list = Subject::of_team(context).ask(context.store(), &view, "member", MAX_LINES).await?;
    let member = |entry: UsageEntry| Some((entry.member?.id, entry.sums));
    Ok(list.data.into_iter().filter_map(member).collect())
}

/// The spend of the last days of a member by model, for the overview.
pub(super) async fn recent(context: &MemberContext) -> PageResult<Html> {
    let subject = Subject::of_member(context);
    let view = View::of_days("model", "credits", DEFAULT_RANGE);
    let table = subject.ask(context.store(), &view, view.by, MAX_ROWS).await?;
    if table.total.requests == 0 {
        return Ok(Html::default());
    }
    let lines = subject.ask(context.store(), &view, &by_day(view.by), MAX_LINES).await?;
    Ok(chart(&view, &table, &lines))
}

impl View {
    fn of_days(by: &'static str, show: &'static str, days: u16) -> Self {
        let today = clock::now().day();
        let first = today + 1 - i32::from(days);
        Self { by, show, days, from: day_text(first), to: day_text(today) }
    }

    fn read(context: &PageContext, dimensions: &[&'static str]) -> Self {
        let choose = |words: &[&'static str], chosen: &str| {
            let found = words.iter().find(|word| **word == chosen);
            found.or(words.first()).copied().unwrap_or_default()
        };
        let by = choose(dimensions, context.param("by"));
        let show = choose(MEASURES, context.param("show"));
        let (from, to) = (context.param("from"), context.param("to"));
        if !from.is_empty() && !to.is_empty() {
            return Self { by, show, days: 0, from: from.to_owned(), to: to.to_owned() };
        }
        let days = context.param("days").parse().ok().filter(|days| RANGES.contains(days));
        Self::of_days(by, show, days.unwrap_or(DEFAULT_RANGE))
    }

    /// The part of the query string that selects the range.
    fn range(&self) -> String {
        match self.days {
            0 => format!("from={}&to={}", self.from, self.to),
            days => format!("days={days}"),
        }
    }
}

fn by_day(by: &str) -> String {
    if by == "day" { by.to_owned() } else { format!("day,{by}") }
}

fn name_of(by: &str, entry: &UsageEntry) -> String {
    let name = match by {
        "model" => entry.model.clone(),
        "provider" => entry.provider.clone(),
        "operation" => entry.operation.clone(),
        "key" => entry.key.as_ref().map(|key| format!("{} ({})", key.name, key.id)),
        "team" => entry.team.as_ref().map(|team| format!("{} ({})", team.name, team.id)),
        "member" => entry.member.as_ref().map(|member| format!("{} ({})", member.name, member.id)),
        _ => entry.day.clone(),
    };
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "none".to_owned())
}

fn measured(show: &str, sums: &UsageSums) -> i64 {
    match show {
        "requests" => sums.requests,
        "tokens" => sums.input_tokens.saturating_add(sums.output_tokens),
        _ => sums.charged_micros,
    }
}

fn number(number: i64) -> String {
    pages::count(number.unsigned_abs())
}

/// Bars by day, stacked by the largest names.
fn chart(view: &View, table: &UsageList, lines: &UsageList) -> Html {
    let (Ok(first), Ok(last)) = (day("from", &lines.from), day("to", &lines.to)) else {
        return Html::default();
    };
    let days: Vec<String> = (first..=last).take(MAX_BARS).map(day_text).collect();
    let is_stacked = view.by != "day" && !lines.has_more;
    let max_named = if is_stacked { MAX_SERIES } else { 0 };
    let empty = |name: String| Series { name, values: vec![0; days.len()] };
    let named = table.data.iter().take(max_named);
    let mut series: Vec<Series> = named.map(|entry| empty(name_of(view.by, entry))).collect();
    let mut others = None;
    for entry in &lines.data {
        let Some(day) = entry.day.as_ref().and_then(|day| days.binary_search(day).ok()) else {
            continue;
        };
        let name = name_of(view.by, entry);
        let found = series.iter_mut().find(|series| series.name == name);
        let found =
            found.unwrap_or_else(|| others.get_or_insert_with(|| empty("others".to_owned())));
        if let Some(value) = found.values.get_mut(day) {
            *value = value.saturating_add(measured(view.show, &entry.sums));
        }
    }
    series.extend(others);
    let (title, show): (&str, fn(i64) -> String) = match view.show {
        "requests" => ("Requests by day", number),
        "tokens" => ("Tokens by day", number),
        _ => ("Credits spent by day", credits),
    };
    BarChart { title, labels: &days, series: &series, show }.full()
}

/// A cell that no spreadsheet runs as a formula.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// How long a page waits for its figures.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// Maximum age of cached slow figures.
const MAX_AGE: Duration = Duration::from_mins(5);

#[derive(Debug, Default)]
pub(super) struct SlowUsage(Mutex<HashMap<String, Query>>);

#[derive(Debug)]
struct Query {
    since: Instant,
    answer: watch::Receiver<Option<Answer>>,
}

#[derive(Debug, Clone)]
struct Answer {
    list: UsageList,
    took: Duration,
}

impl Query {
    fn is_usable(&self) -> bool {
        let is_running = self.answer.has_changed().is_ok();
        let answer = self.answer.borrow();
        answer.as_ref().map_or(is_running, |Answer { took, .. }| {
            *took > MAX_WAIT && self.since.elapsed() < MAX_AGE + *took
        })
    }
}

impl SlowUsage {
    /// The usage from `ask`, or `None` if it is not ready yet.
    pub(super) async fn get(
        &self,
        name: String,
        ask: impl Future<Output = PageResult<UsageList>> + Send + 'static,
    ) -> PageResult<Option<UsageList>> {
        let mut answer = self.receiver(name, ask);
        let waiting = timeout(MAX_WAIT, answer.wait_for(Option::is_some)).await;
        match waiting {
            Ok(Ok(found)) => Ok(found.as_ref().map(|answer| answer.list.clone())),
            Ok(Err(_)) => Err(PageError::internal()),
            Err(_) => Ok(None),
        }
    }

    fn receiver(
        &self,
        name: String,
        ask: impl Future<Output = PageResult<UsageList>> + Send + 'static,
    ) -> watch::Receiver<Option<Answer>> {
        let mut queries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queries.retain(|_, query| query.is_usable());
        let begin = || {
            let (sender, answer) = watch::channel(None);
            let since = Instant::now();
            tokio::spawn(async move {
                // Without a result the channel closes, which is an error for all waiters.
                if let Ok(list) = ask.await {
                    sender.send_replace(Some(Answer { list, took: since.elapsed() }));
                }
            });
            Query { since, answer }
        };
        queries.entry(name).or_insert_with(begin).answer.clone()
    }
}

#[cfg(test)]
mod tests;
