//! Rendering of pages: the frame, notices and errors.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pages::{Frame, NavItem};

use super::assets;
use crate::config::Config;
use crate::failure::ApiError;
use crate::operator;

/// Success notices, by the word in the URL.
pub(super) const DONE: &[(&str, &str)] = &[
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

pub(super) const MEMBER_NAV: &[NavItem] = &[
    NavItem::new("", "Overview", "/", "home"),
    NavItem::new("", "Usage", "/usage", "chart"),
    NavItem::new("", "Receipts", "/receipts", "receipt"),
    NavItem::new("", "Keys", "/keys", "key"),
    NavItem::new("Models", "Models and prices", "/models", "cube"),
    NavItem::new("", "Playground", "/playground", "chat"),
    NavItem::new("", "Research", "/research", "search"),
    NavItem::new("", "Media", "/media", "image"),
    NavItem::new("Build", "Connect", "/connect", "plug"),
    NavItem::new("", "API reference", "/docs", "doc"),
];

pub(super) const TEAM: NavItem = NavItem::new("", "Team", "/team", "people");

pub(super) const OPERATOR_PAGES: NavItem =
    NavItem::new("Service", "Operator pages", "/operator", "server");
pub(super) const OWN_PAGES: NavItem = NavItem::new("Account", "My pages", "/", "home");

pub(super) const OPERATOR_NAV: &[NavItem] = &[
    NavItem::new("", "Overview", "/operator", "home"),
    NavItem::new("", "Members", "/operator/members", "people"),
    NavItem::new("", "Teams", "/operator/teams", "people"),
    NavItem::new("", "Keys", "/operator/keys", "key"),
    NavItem::new("", "Usage", "/operator/usage", "chart"),
    NavItem::new("", "Ledger", "/operator/ledger", "book"),
    NavItem::new("", "Audit log", "/operator/audit", "list"),
    NavItem::new("Service", "Providers", "/operator/providers", "server"),
    NavItem::new("", "Alerts", "/operator/alerts", "warn"),
    NavItem::new("", "Prices and aliases", "/operator/prices", "tag"),
    NavItem::new("", "Configuration", "/operator/configuration", "gear"),
    NavItem::new("", "API reference", "/docs", "doc"),
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

/// The links of a list to its first page and to the next one.
#[derive(Default)]
pub(super) struct Pager {
    /// The cursor of the next page; empty for none.
    pub(super) next: String,
    /// Whether this is not the first page.
    pub(super) is_later: bool,
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
    /// The person must sign in, and then returns to this address.
    SignIn(String),
    Failed {
        status: StatusCode,
        message: String,
    },
    /// A form was refused; it is shown again.
    Refused(Refusal),
}

/// Why a form was refused, and which field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// Empty if it is no single field.
    pub(super) field: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, field, message: message.into() }
    }

    /// The refusal of a request that the state of its object does not allow.
    pub(super) fn conflict(self) -> Self {
        Self { status: StatusCode::CONFLICT, ..self }
    }
}

impl PageError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::Failed { status, message: message.into() }
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

    /// A refusal is shown beside its form, any other error on a separate page.
    pub(super) fn refusal(self) -> PageResult<Refusal> {
        if let Self::Refused(refusal) = self { Ok(refusal) } else { Err(self) }
    }
}

#[derive(Template)]
#[template(path = "console/problem.html")]
struct ProblemPage {
    frame: Frame,
    message: String,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::SignIn(next) => {
                let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
                return redirect(&format!("/?next={next}"));
            }
            Self::Failed { status, message } | Self::Refused(Refusal { status, message, .. }) => {
                (status, message)
            }
        };
        let title = status.canonical_reason().unwrap_or("Problem").to_owned();
        let (site, assets) = ("agent".to_owned(), assets().path());
        let frame = Frame { title, site, assets, ..Frame::default() };
        let page = ProblemPage { frame, message };
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

impl From<Refusal> for PageError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<operator::Error> for PageError {
    fn from(error: operator::Error) -> Self {
        match error {
            operator::Error::Store(error) => error.into(),
            operator::Error::NoRandom => Self::internal(),
            operator::Error::Missing(what) => Self::missing(what),
            operator::Error::Stopping => ApiError::from(error).into(),
            operator::Error::Invalid { field, wanted } => {
                let (field, name) = field_of(field);
                Refusal::new(field, format!("{name} must be {wanted}.")).into()
            }
            error => Refusal::new("", format!("{error}.")).into(),
        }
    }
}

/// The form field and its label, for a field of the admin API.
fn field_of(field: &'static str) -> (&'static str, &'static str) {
    match field {
        "amount_micros" => ("amount", "The amount (in micro-credits)"),
        "budget.amount_micros" => ("budget", "The budget (in micro-credits)"),
        "spend_limit_micros" => ("spend", "The spend limit (in micro-credits)"),
        "requests_per_minute" => ("rate", "Requests per minute"),
        "overlap_seconds" => ("overlap", "The time for the old key (in seconds)"),
        "concurrency" => (field, "Requests at once"),
        "scopes" => (field, "The scopes"),
        "models" => (field, "The models"),
        "name" => (field, "The name"),
        "reason" => (field, "The reason"),
        "reference" => (field, "The reference"),
        field => (field, field),
    }
}
