//! Rendering of pages: the frame, notices and errors.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pages::{Frame, Html, NavItem, Notice};

use super::assets;
use super::fields::WrongField;
use crate::config::Config;
use crate::failure::ApiError;
use crate::operator;

/// What a page says after an action, by the word in its address.
const DONE: &[(&str, &str)] = &[
    ("signed-out", "You are signed out."),
    ("session-ended", "The session has ended."),
    ("key-changed", "The key is changed."),
    ("key-revoked", "The key is revoked. Requests with it are refused from now on."),
    ("cancelled", "The job is cancelled."),
    ("member-created", "The member is created. Give them a key and a first top-up."),
    ("member-changed", "The member is changed."),
    ("team-created", "The team is created. Top up and add members."),
    ("team-changed", "The team is changed."),
    ("team-removed", "The team is removed. Its postings and receipts remain."),
    ("budget-saved", "The budget is saved."),
    ("posted", "The amount is posted."),
    ("drained", "The provider gets no new requests. Running requests finish."),
    ("enabled", "The provider gets new requests again."),
    ("alert-stored", "A test alert is stored. Reload this page to see its delivery."),
    ("reloaded", "The configuration is reloaded. Running requests finish with the old one."),
    ("already-posted", "This reference was posted before with the same amount; nothing moved now."),
];

const fn item(
    group: &'static str,
    name: &'static str,
    path: &'static str,
    icon: &'static str,
) -> NavItem {
    NavItem { group, name, path, icon, is_current: false }
}

pub(super) const MEMBER_NAV: &[NavItem] = &[
    item("", "Overview", "/", "home"),
    item("", "Usage", "/usage", "chart"),
    item("", "Receipts", "/receipts", "receipt"),
    item("", "Keys", "/keys", "key"),
    item("Models", "Models and prices", "/models", "cube"),
    item("", "Playground", "/playground", "chat"),
    item("", "Research", "/research", "search"),
    item("", "Media", "/media", "image"),
    item("Build", "Connect", "/connect", "plug"),
    item("", "API reference", "/docs", "doc"),
];

pub(super) const TEAM: NavItem = item("", "Team", "/team", "people");

pub(super) const OPERATOR_PAGES: NavItem = item("Service", "Operator pages", "/operator", "server");
pub(super) const OWN_PAGES: NavItem = item("Account", "My pages", "/", "home");

pub(super) const OPERATOR_NAV: &[NavItem] = &[
    item("", "Overview", "/operator", "home"),
    item("", "Members", "/operator/members", "people"),
    item("", "Teams", "/operator/teams", "people"),
    item("", "Keys", "/operator/keys", "key"),
    item("", "Usage", "/operator/usage", "chart"),
    item("", "Ledger", "/operator/ledger", "book"),
    item("", "Audit log", "/operator/audit", "list"),
    item("Service", "Providers", "/operator/providers", "server"),
    item("", "Alerts", "/operator/alerts", "warn"),
    item("", "Prices and aliases", "/operator/prices", "tag"),
    item("", "Configuration", "/operator/configuration", "gear"),
    item("", "API reference", "/docs", "doc"),
];

pub(super) fn frame(config: &Config, title: &str) -> Frame {
    let host = config.public_url.host().unwrap_or_default();
    let is_name = host.contains('.') && host.parse::<std::net::IpAddr>().is_err();
    Frame {
        title: title.to_owned(),
        site: if is_name { host.to_owned() } else { "agent".to_owned() },
        assets: assets().path(),
        ..Frame::default()
    }
}

pub(super) fn done(word: &str) -> Option<Notice> {
    let (_, text) = DONE.iter().find(|(known, _)| *known == word)?;
    Some(Notice { kind: "good", text: (*text).to_owned() })
}

pub(super) fn refused(text: impl Into<String>) -> Notice {
    Notice { kind: "bad", text: text.into() }
}

pub(super) fn show<T: Template>(page: &T) -> PageResult {
    show_as(StatusCode::OK, page)
}

pub(super) fn show_as<T: Template>(status: StatusCode, page: &T) -> PageResult {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page cannot be rendered");
        PageError::internal()
    })?;
    Ok(pages::html(status, html))
}

pub(super) use pages::redirect;

pub(super) type PageResult<T = Response> = Result<T, PageError>;

#[derive(Debug)]
pub(super) enum PageError {
    /// The person must sign in first, and then continues at this address.
    SignIn(String),
    Shown {
        status: StatusCode,
        message: String,
    },
}

impl PageError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::Shown { status, message: message.into() }
    }

    pub(super) fn missing(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("There is no such {what}."))
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(super) fn internal() -> Self {
        let message = "The service failed. Try again; the log of the service says why.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

#[derive(Template)]
#[template(path = "console/problem.html")]
struct ProblemPage {
    frame: Frame,
    message: String,
    icon: Html,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::SignIn(next) => {
                let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
                return redirect(&format!("/?next={next}"));
            }
            Self::Shown { status, message } => (status, message),
        };
        let title = status.canonical_reason().unwrap_or("Problem").to_owned();
        let (site, assets) = ("agent".to_owned(), assets().path());
        let frame = Frame { title, site, assets, ..Frame::default() };
        let page = ProblemPage { frame, message, icon: pages::icon("warn") };
        pages::html(status, page.render().unwrap_or_default())
    }
}

impl From<ApiError> for PageError {
    fn from(error: ApiError) -> Self {
        let status = StatusCode::from_u16(error.code().status());
        let mut message = error.message().to_owned();
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Self::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), message + ".")
    }
}

impl From<gateway_store::Error> for PageError {
    fn from(error: gateway_store::Error) -> Self {
        ApiError::from(error).into()
    }
}

#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) field: &'static str,
    pub(super) message: String,
}

impl From<WrongField> for Refusal {
    fn from(WrongField { field, message }: WrongField) -> Self {
        Self { field, message }
    }
}

/// An action of an operator: a refusal is shown beside its form, a failure as a page.
pub(super) fn refusal(error: operator::Error) -> PageResult<Refusal> {
    match error {
        operator::Error::Store(error) => Err(error.into()),
        operator::Error::NoRandom => Err(PageError::internal()),
        operator::Error::Missing(what) => Err(PageError::missing(what)),
        operator::Error::Invalid { field, wanted } => {
            Ok(Refusal { field, message: format!("{} must be {wanted}.", name_of(field)) })
        }
        error => Ok(Refusal { field: "", message: format!("{error}.") }),
    }
}

fn name_of(field: &str) -> &str {
    match field {
        "amount_micros" => "The amount (in micro-credits)",
        "budget.amount_micros" => "The budget (in micro-credits)",
        "spend_limit_micros" => "The spend limit (in micro-credits)",
        "requests_per_minute" => "Requests per minute",
        "overlap_seconds" => "The time for the old key (in seconds)",
        "concurrency" => "Requests at once",
        "scopes" => "The scopes",
        "models" => "The models",
        "name" => "The name",
        "reason" => "The reason",
        "reference" => "The reference",
        field => field,
    }
}
