//! Usage of a member, or of all: a chart by day, a table, and both as CSV.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::response::Response;
use gateway_store::Store;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, REFRESH};
use http::{HeaderValue, StatusCode};
use ledger::MemberId;
use pages::{BarChart, Frame, Html, Series, credits};
use time::format_description::well_known::Iso8601;
use time::{Date, Duration};
use wire::usage::{UsageEntry, UsageList, UsageSums};

use super::context::{ManagerContext, MemberContext, OperatorContext, PageContext};
use super::page::{self, PageError, PageResult, refusal};
use super::slow_usage::SlowUsage;
use crate::clock;
use crate::usage::UsageOrder;

/// Ranges to choose from, in days.
const RANGES: [u16; 4] = [7, 30, 90, 365];
const DEFAULT_RANGE: u16 = 30;
/// Names with their own colour; the rest are one series.
const MAX_SERIES: usize = 7;
const MAX_ROWS: u32 = 200;
const MAX_LINES: u32 = 9999;
/// Bars of a chart: three years and a few days.
const MAX_BARS: usize = 1100;

const MEMBER_DIMENSIONS: &[(&str, &str)] =
    &[("model", "Model"), ("key", "Key"), ("operation", "Operation"), ("day", "Day")];
const OPERATOR_DIMENSIONS: &[(&str, &str)] = &[
    ("member", "Member"),
    ("team", "Team"),
    ("model", "Model"),
    ("provider", "Provider"),
    ("operation", "Operation"),
    ("day", "Day"),
];
const TEAM_DIMENSIONS: &[(&str, &str)] =
    &[("member", "Member"), ("model", "Model"), ("operation", "Operation"), ("day", "Day")];
const MEASURES: &[(&str, &str)] =
    &[("credits", "Credits"), ("requests", "Requests"), ("tokens", "Tokens")];

#[derive(Template)]
#[template(path = "console/usage.html")]
struct UsagePage {
    frame: Frame,
    path: &'static str,
    view: View,
    dimensions: &'static [(&'static str, &'static str)],
    measures: &'static [(&'static str, &'static str)],
    ranges: [u16; 4],
    chart: Html,
    rows: Vec<UsageRow>,
    name: &'static str,
    total: UsageRow,
    has_more: bool,
    is_pending: bool,
}

/// What the address asks for.
#[derive(Clone)]
struct View {
    by: &'static str,
    show: &'static str,
    /// 0 if the range has its own ends.
    days: u16,
    from: String,
    to: String,
}

struct UsageRow {
    name: String,
    requests: String,
    input: String,
    output: String,
    credits: String,
    /// Of the total, in percent.
    share: String,
}

#[derive(Clone, Copy)]
struct Subject {
    path: &'static str,
    nav: &'static str,
    member: Option<MemberId>,
    team: Option<MemberId>,
    dimensions: &'static [(&'static str, &'static str)],
}

struct Shown {
    view: View,
    chart: Html,
    table: UsageList,
    is_pending: bool,
}

impl Subject {
    fn of_member(context: &MemberContext) -> Self {
        let member = Some(context.caller.key.member);
        let path = "/usage";
        Self { path, nav: path, member, team: None, dimensions: MEMBER_DIMENSIONS }
    }

    fn of_team(context: &ManagerContext) -> Self {
        let team = Some(context.managed);
        let (path, nav) = ("/team/usage", "/team");
        Self { path, nav, member: None, team, dimensions: TEAM_DIMENSIONS }
    }

    fn of_all() -> Self {
        let (path, dimensions) = ("/operator/usage", OPERATOR_DIMENSIONS);
        Self { path, nav: path, member: None, team: None, dimensions }
    }

    async fn ask(
        &self,
        store: &Store,
        view: &View,
        by: String,
        limit: u32,
    ) -> PageResult<UsageList> {
        let (from, to) = (Some(view.from.clone()), Some(view.to.clone()));
        let (member, team) = (self.member, self.team);
        let order = UsageOrder { member, team, from, to, by: Some(by), limit: Some(limit) };
        order.answer(store, clock::now()).await.map_err(|error| match refusal(error) {
            Ok(refused) => PageError::new(StatusCode::BAD_REQUEST, refused.message),
            Err(error) => error,
        })
    }

    async fn page(&self, context: &PageContext) -> PageResult {
        let view = View::read(context, self.dimensions);
        let table = self.ask(context.store(), &view, view.by.to_owned(), MAX_ROWS).await?;
        let lines = self.ask(context.store(), &view, by_day(view.by), MAX_LINES).await?;
        let chart = chart(&view, &table, &lines);
        self.show(context, Shown { view, chart, table, is_pending: false })
    }

    /// The page over all members by member or by team, which may take long to add up.
    async fn slow_page(self, context: &PageContext, view: View, slow: &SlowUsage) -> PageResult {
        let days = View { by: "day", ..view.clone() };
        let lines = self.ask(context.store(), &days, days.by.to_owned(), MAX_LINES).await?;
        let chart = chart(&days, &lines, &lines);
        let ask = {
            let (billing, view) = (Arc::clone(&context.billing), view.clone());
            async move { self.ask(&billing.store, &view, view.by.to_owned(), MAX_ROWS).await }
        };
        let name = format!("{} {} {}", view.by, view.from, view.to);
        let table = slow.get(name, ask).await?;
        let is_pending = table.is_none();
        let none = UsageList { data: Vec::new(), has_more: false, ..lines };
        let shown = Shown { view, chart, table: table.unwrap_or(none), is_pending };
        let mut response = self.show(context, shown)?;
        if is_pending {
            response.headers_mut().insert(REFRESH, HeaderValue::from_static("2"));
        }
        Ok(response)
    }

    fn show(&self, context: &PageContext, shown: Shown) -> PageResult {
        let Shown { view, chart, table, is_pending } = shown;
        let name = self.dimensions.iter().find(|(word, _)| *word == view.by);
        let all = measured(view.show, &table.total);
        let row = |entry: &UsageEntry| row(name_of(view.by, entry), &entry.sums, view.show, all);
        page::show(&UsagePage {
            frame: context.frame("Usage", self.nav),
            path: self.path,
            chart,
            rows: table.data.iter().map(row).collect(),
            name: name.map_or("", |(_, name)| name),
            total: self::row("Total".to_owned(), &table.total, view.show, all),
            has_more: table.has_more,
            is_pending,
            dimensions: self.dimensions,
            measures: MEASURES,
            ranges: RANGES,
            view,
        })
    }

    async fn csv(&self, context: &PageContext) -> PageResult {
        let view = View::read(context, self.dimensions);
        let list = self.ask(context.store(), &view, by_day(view.by), MAX_LINES).await?;
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
    let list = Subject::of_team(context)
        .ask(context.store(), &view, "member".to_owned(), MAX_LINES)
        .await?;
    let member = |entry: UsageEntry| Some((entry.member?.id, entry.sums));
    Ok(list.data.into_iter().filter_map(member).collect())
}

/// The spend of the last days of a member by model, for the overview.
pub(super) async fn recent(context: &MemberContext) -> PageResult<Html> {
    let subject = Subject::of_member(context);
    let view = View::of_days("model", "credits", DEFAULT_RANGE);
    let table = subject.ask(context.store(), &view, view.by.to_owned(), MAX_ROWS).await?;
    if table.total.requests == 0 {
        return Ok(Html::default());
    }
    let lines = subject.ask(context.store(), &view, by_day(view.by), MAX_LINES).await?;
    Ok(chart(&view, &table, &lines))
}

impl View {
    fn of_days(by: &'static str, show: &'static str, days: u16) -> Self {
        let today = clock::now().micros();
        let today = time::OffsetDateTime::from_unix_timestamp(today / 1_000_000);
        let today = today.map_or(Date::MIN, time::OffsetDateTime::date);
        let first = today.saturating_sub(Duration::days(i64::from(days) - 1));
        Self { by, show, days, from: text_of(first), to: text_of(today) }
    }

    fn read(context: &PageContext, dimensions: &[(&'static str, &'static str)]) -> Self {
        let choose = |words: &[(&'static str, &'static str)], chosen: &str| {
            let found = words.iter().find(|(word, _)| *word == chosen).or(words.first());
            found.map_or("", |(word, _)| *word)
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

    /// The part of the address that stays when another part changes.
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

fn text_of(date: Date) -> String {
    date.format(&Iso8601::DATE).unwrap_or_default()
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

fn row(name: String, sums: &UsageSums, show: &str, all: i64) -> UsageRow {
    let tenths = i128::from(measured(show, sums)) * 1000 / i128::from(all.max(1));
    UsageRow {
        name,
        requests: number(sums.requests),
        input: number(sums.input_tokens),
        output: number(sums.output_tokens),
        credits: credits(sums.charged_micros),
        share: format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// Bars by day, stacked by the names that have the most.
fn chart(view: &View, table: &UsageList, lines: &UsageList) -> Html {
    let (Ok(first), Ok(last)) =
        (Date::parse(&lines.from, &Iso8601::DATE), Date::parse(&lines.to, &Iso8601::DATE))
    else {
        return Html::default();
    };
    let days = std::iter::successors(Some(first), |day| day.next_day());
    let days: Vec<String> =
        days.take_while(|day| *day <= last).take(MAX_BARS).map(text_of).collect();
    let is_stacked = view.by != "day" && !lines.has_more;
    let mut series: Vec<Series> = Vec::new();
    if is_stacked {
        let names = table.data.iter().take(MAX_SERIES).map(|entry| name_of(view.by, entry));
        series.extend(names.map(|name| Series { name, values: vec![0; days.len()] }));
    }
    let others = Series { name: "others".to_owned(), values: vec![0; days.len()] };
    let mut others = Some(others);
    for entry in &lines.data {
        let Some(day) = entry.day.as_ref().and_then(|day| days.binary_search(day).ok()) else {
            continue;
        };
        let name = name_of(view.by, entry);
        let place =
            if is_stacked { series.iter().position(|series| series.name == name) } else { None };
        let place = place.unwrap_or_else(|| {
            let found = series.iter().position(|series| series.name == "others");
            found.unwrap_or_else(|| {
                series.extend(others.take());
                series.len() - 1
            })
        });
        let value = series.get_mut(place).and_then(|series| series.values.get_mut(day));
        if let Some(value) = value {
            *value = value.saturating_add(measured(view.show, &entry.sums));
        }
    }
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
