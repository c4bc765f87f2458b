//! The admin API: operations on members, keys and money.
//!
//! **Boundary:** every handler takes an [`Admin`], which exists only for a request with the admin
//! token of the configuration. A member's key is rejected here, and the token everywhere else.

mod books;
mod keys;
mod members;
mod service;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::response::Response;
use gateway_store::{Actor, Store};
use http::StatusCode;
use http::request::Parts;
use ledger::Refusal;
use ring::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::admin::{MAX_NAME_CHARS, Page};
use wire::error::Code;

use super::json;
use super::{AppState, body};
use crate::failure::{ApiError, ApiResult};
use crate::identity::bearer;
use crate::openapi::Routes;
use crate::operator::{Error, Operator, check_range};
use crate::request_info::RequestInfo;
use crate::request_log;
use crate::service::Service;

/// Default and maximum page size.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;
/// Longest error about a body, which it may quote.
const MAX_MESSAGE_CHARS: usize = 200;

pub(super) fn add(routes: Routes<AppState>) -> Routes<AppState> {
    routes
        .get("/admin/v1/members", members::list)
        .post("/admin/v1/members", members::create)
        .get("/admin/v1/members/{id}", members::show)
        .patch("/admin/v1/members/{id}", members::change)
        .post("/admin/v1/members/{id}/top-ups", members::top_up)
        .post("/admin/v1/members/{id}/adjustments", members::adjust)
        .get("/admin/v1/members/{id}/statement", members::statement)
        .get("/admin/v1/teams", members::list_teams)
        .post("/admin/v1/teams", members::create_team)
        .get("/admin/v1/teams/{id}", members::show_team)
        .patch("/admin/v1/teams/{id}", members::change_team)
        .delete("/admin/v1/teams/{id}", members::remove_team)
        .get("/admin/v1/teams/{id}/members", members::of_team)
        .get("/admin/v1/members/{id}/keys", keys::list)
        .post("/admin/v1/members/{id}/keys", keys::create)
        .get("/admin/v1/keys/{id}", keys::show)
        .patch("/admin/v1/keys/{id}", keys::change)
        .post("/admin/v1/keys/{id}/rotate", keys::rotate)
        .post("/admin/v1/keys/{id}/revoke", keys::revoke)
        .get("/admin/v1/receipts/{id}", books::receipt)
        .get("/admin/v1/audit", books::audit)
        .get("/admin/v1/ledger/check", books::check)
        .get("/admin/v1/usage", books::usage)
        .post("/admin/v1/ledger/repair-usage", books::rebuild_usage)
        .get("/admin/v1/providers", service::providers)
        .get("/admin/v1/models", service::models)
        .post("/admin/v1/providers/{id}/drain", service::drain)
        .post("/admin/v1/providers/{id}/enable", service::enable)
        .post("/admin/v1/reload", service::reload)
        .get("/admin/v1/alerts", service::alerts)
        .post("/admin/v1/alerts/test", service::test_alerts)
}

pub(super) struct Admin {
    service: Arc<Service>,
    by: Actor,
}

impl Admin {
    fn operator(&self) -> Operator<'_> {
        Operator { store: self.store(), by: &self.by }
    }

    fn store(&self) -> &Store {
        &self.service.billing.store
    }
}

impl FromRequestParts<AppState> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &AppState) -> ApiResult<Self> {
        let Some(token) = &service.config.admin_token else {
            return Err(ApiError::new(Code::NotFound, "unknown path; see /docs"));
        };
        if !bearer(&parts.headers).is_some_and(|offered| is_same(token.reveal(), offered)) {
            let message = "this path is for operators; send `Authorization: Bearer <admin token>`";
            return Err(ApiError::new(Code::InvalidKey, message));
        }
        request_log::note_operator();
        let info = parts.extensions.get::<RequestInfo>();
        let peer = info.map(|info| info.peer.ip());
        let name = peer.map_or("admin-api".to_owned(), |peer| format!("admin-api:{peer}"));
        let request = info.map(|info| info.id.to_string());
        Ok(Self { service: service.clone(), by: Actor { name, request } })
    }
}

/// Compares in constant time, whatever the lengths.
pub(super) fn is_same(token: &str, offered: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let tag = hmac::sign(&key, token.as_bytes());
    hmac::verify(&key, offered.as_bytes(), tag.as_ref()).is_ok()
}

/// Reads and parses a body; unknown fields are errors.
async fn strict<T: DeserializeOwned>(admin: &Admin, request: Request) -> ApiResult<T> {
    let (head, body) = request.into_parts();
    parse(&body::read(&admin.service.config.limits, &head.headers, body).await?)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> ApiResult<T> {
    body::parse(body, |path, text| {
        // The message itself names a missing or unknown field.
        let named = text.split('`').nth(1).filter(|_| text.contains(" field `"));
        let name = named.unwrap_or(path);
        let message: String = format!("`{name}`: {text}").chars().take(MAX_MESSAGE_CHARS).collect();
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        ApiError::invalid(name, message)
    })
}

struct PageQuery {
    limit: u32,
    cursor: Option<String>,
}

impl PageQuery {
    /// Parses a query of `limit` and a cursor; other parameters are errors.
    fn read(query: Option<&str>, cursor_name: &'static str) -> ApiResult<Self> {
        let mut page = Self { limit: DEFAULT_LIMIT, cursor: None };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if name == "limit" {
                let limit = value.parse().unwrap_or_default();
                check_range("limit", limit, 1..=MAX_LIMIT)?;
                page.limit = limit;
            } else if name == cursor_name {
                page.cursor = Some(value.into_owned());
            } else {
                return Err(ApiError::unknown_parameter(&name));
            }
        }
        Ok(page)
    }

    /// The query of a list that is ordered newest first, and the id before which it begins.
    fn before(query: Option<&str>) -> ApiResult<(Self, i64)> {
        let page = Self::read(query, "before")?;
        let before = match page.cursor.as_deref().map(str::parse::<i64>) {
            None => i64::MAX,
            Some(Ok(number)) if number > 0 => number,
            Some(_) => {
                let message = "`before` must be the id of an entry, a whole number";
                return Err(ApiError::invalid("before", message));
            }
        };
        Ok((page, before))
    }

    /// The number of rows to read: one more shows whether there is another page.
    fn one_more(&self) -> u32 {
        self.limit + 1
    }

    /// The page of the rows, each converted by `view`.
    async fn list<T, V: Serialize, F: Future<Output = ApiResult<V>>>(
        &self,
        rows: Vec<T>,
        view: impl Fn(T) -> F,
    ) -> ApiResult {
        let Page { object, data: rows, has_more } = self.page(rows);
        let mut data = Vec::with_capacity(rows.len());
        for row in rows {
            data.push(view(row).await?);
        }
        Ok(json(&Page { object, data, has_more }))
    }

    /// The page of the rows, of which one may be extra.
    fn page<T>(&self, mut data: Vec<T>) -> Page<T> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = data.len() > limit;
        data.truncate(limit);
        Page { object: "list".to_owned(), data, has_more }
    }
}

fn created<T: Serialize>(value: &T) -> Response {
    let mut response = json(value);
    *response.status_mut() = StatusCode::CREATED;
    response
}

/// Unlike members, operators learn what does not exist.
impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Invalid { field, .. } => Self::invalid(field, message),
            Error::Missing(_) | Error::NotOwnTeam => Self::new(Code::NotFound, message),
            Error::Exists(_)
            | Error::Conflict(_)
            | Error::KeyOver
            | Error::Short { .. }
            | Error::Configuration(_) => Self::new(Code::Conflict, message),
            Error::Stopping => Self::new(Code::Draining, message),
            Error::Refused(Refusal::AmountOutOfRange) => {
                let message = "the balance would exceed the maximum; nothing was changed";
                Self::new(Code::Conflict, message)
            }
            Error::Refused(refusal) => refusal.into(),
            Error::NoRandom => {
                tracing::error!("the system returned no random bytes");
                Self::internal()
            }
            Error::Store(error) => error.into(),
        }
    }
}

fn missing(what: &str) -> ApiError {
    ApiError::new(Code::NotFound, format!("no such {what}"))
}

#[cfg(test)]
mod tests;
