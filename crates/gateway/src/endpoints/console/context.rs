//! A request of a signed-in person.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request};
use gateway_store::{Actor, NewSession, Role, Scope, Store, WebSession};
use http::header::USER_AGENT;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode};
use ledger::MemberId;
use pages::{Account, CSRF_HEADER, Fields, Frame, NavItem, Notice, Token};

use super::super::internal_call::InternalCalls;
use super::super::{AppState, body, check_host};
use super::page::{
    self, DONE, MEMBER_NAV, OPERATOR_NAV, OPERATOR_PAGES, OWN_PAGES, PageError, PageResult, Pager,
    Refusal, TEAM,
};
use crate::clock;
use crate::config::{Config, Limits};
use crate::failure::ApiResult;
use crate::identity::Caller;
use crate::operator::Operator;
use crate::request_info::RequestInfo;
use crate::request_log;
use crate::service::Service;

/// A session is prolonged at most this often.
const RENEW_MICROS: i64 = 60 * 1_000_000;
const MAX_FORM_BYTES: u64 = 64 * 1024;
/// Maximum stored characters of a browser's name.
const MAX_CLIENT_CHARS: usize = 200;
/// Position of the team in the navigation of its manager, after the keys.
const TEAM_PLACE: usize = 4;
/// Idle timeout and maximum lifetime of a session, for members and operators.
const OF_MEMBERS: (Duration, Duration) = (Duration::from_hours(12), Duration::from_hours(7 * 24));
const OF_OPERATORS: (Duration, Duration) = (Duration::from_hours(1), Duration::from_hours(12));

/// A request of a signed-in person.
pub(super) struct PageContext {
    pub(super) service: Arc<Service>,
    pub(super) info: RequestInfo,
    calls: Arc<InternalCalls>,
    pub(super) session: WebSession,
    pub(super) query: Fields,
    pub(super) team: Option<MemberId>,
    /// The member who signed in; `None` for the admin token.
    pub(super) caller: Option<Caller>,
    /// The actor in the audit log.
    pub(super) by: Actor,
    token: Token,
    role: Role,
}

/// A request of a person with access to a page, with the data the page needs about the person.
pub(super) struct Authorized<P> {
    pub(super) context: PageContext,
    pub(super) who: P,
}

/// Access control of the page at a path.
pub(super) trait Access: Sized {
    fn check(context: &PageContext, path: &str) -> PageResult<Self>;
}

pub(super) struct MemberAccess {
    pub(super) caller: Caller,
}

pub(super) struct ManagerAccess {
    pub(super) member: MemberId,
    pub(super) team: MemberId,
}

pub(super) struct OperatorAccess;

pub(super) type MemberContext = Authorized<MemberAccess>;
pub(super) type ManagerContext = Authorized<ManagerAccess>;
/// A person with the admin token, or a member with this role.
pub(super) type OperatorContext = Authorized<OperatorAccess>;

impl Access for MemberAccess {
    fn check(context: &PageContext, _: &str) -> PageResult<Self> {
        let message = "This page belongs to members. You are signed in as the operator.";
        let caller = context.caller.clone().ok_or_else(|| PageError::forbidden(message))?;
        Ok(Self { caller })
    }
}

impl Access for ManagerAccess {
    fn check(context: &PageContext, path: &str) -> PageResult<Self> {
        let member = MemberAccess::check(context, path)?.caller.key.member;
        match context.team {
            Some(team) if context.role == Role::Manager => Ok(Self { member, team }),
            _ => Err(PageError::forbidden("This page is for the manager of a team.")),
        }
    }
}

impl Access for OperatorAccess {
    fn check(context: &PageContext, _: &str) -> PageResult<Self> {
        if let Some(caller) = &context.caller {
            if context.role != Role::Operator {
                return Err(PageError::forbidden("This page is for operators of the service."));
            }
            // A key with limited scopes must not open every page.
            if caller.key.scopes.len() < Scope::ALL.len() {
                let message = "Sign in with a key of all scopes to use the pages of operators.";
                return Err(PageError::forbidden(message));
            }
            request_log::note_operator();
        }
        Ok(Self)
    }
}

impl<P: Access> FromRequestParts<AppState> for Authorized<P> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, service: &AppState) -> PageResult<Self> {
        let context = PageContext::from_request_parts(parts, service).await?;
        let who = P::check(&context, parts.uri.path())?;
        Ok(Self { context, who })
    }
}

impl FromRequestParts<AppState> for PageContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, service: &AppState) -> PageResult<Self> {
        find(parts, service).await?.ok_or_else(|| {
            let address = parts.uri.path_and_query().map_or("/", |it| it.as_str());
            let is_page = parts.method == http::Method::GET;
            PageError::SignIn(if is_page { address } else { "/" }.to_owned())
        })
    }
}

impl<P> Deref for Authorized<P> {
    type Target = PageContext;

    fn deref(&self) -> &PageContext {
        &self.context
    }
}

/// Starts a session with a new token, which prevents session fixation; returns its cookie.
/// Without a caller it is an operator session.
pub(super) async fn start_session(
    service: &Service,
    info: &RequestInfo,
    headers: &HeaderMap,
    caller: Option<&Caller>,
) -> PageResult<HeaderValue> {
    let token = Token::draw().ok_or_else(PageError::internal)?;
    let (idle, most) = durations(caller);
    let client = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    let session = NewSession {
        hash: token.hash(),
        member: caller.map(|caller| caller.key.member),
        key: caller.map(|caller| caller.key.id.clone()),
        client: client.unwrap_or_default().chars().take(MAX_CLIENT_CHARS).collect(),
        address: info.peer.ip().to_string(),
        idle_micros: clock::micros(idle),
        max_micros: clock::micros(most),
    };
    service.billing.store.create_session(&session).await?;
    let cookie = Cookie::Session.set(&service.config, Some(&token), most.as_secs());
    cookie.ok_or_else(PageError::internal)
}

/// Idle timeout and maximum lifetime of a session.
fn durations(caller: Option<&Caller>) -> (Duration, Duration) {
    let is_member = caller.is_some_and(|caller| caller.role != Role::Operator);
    if is_member { OF_MEMBERS } else { OF_OPERATORS }
}

/// The request of a signed-in person; `None` without a valid session. Foreign hosts are refused.
pub(super) async fn find(parts: &mut Parts, service: &AppState) -> PageResult<Option<PageContext>> {
    let (config, store) = (&service.config, &service.billing.store);
    check_host(config, &parts.headers)?;
    let Some(info) = parts.extensions.get::<RequestInfo>().copied() else { return Ok(None) };
    let Some(calls) = parts.extensions.get::<Arc<InternalCalls>>().cloned() else {
        return Ok(None);
    };
    let Some(token) = Cookie::Session.token(&parts.headers, config) else { return Ok(None) };
    let Some(session) = store.session(token.hash()).await? else { return Ok(None) };
    let caller = match &session.key {
        // The session ends with its key.
        Some(key) => match service.identities.signed_in(key).await {
            Ok(caller) => Some(caller),
            Err(_) => return Ok(None),
        },
        None if session.member.is_none() && config.admin_token.is_some() => None,
        None => return Ok(None),
    };
    if clock::now().micros() - session.seen_at.micros() > RENEW_MICROS {
        let (idle, _) = durations(caller.as_ref());
        store.renew_session(session.hash, clock::micros(idle)).await?;
    }
    let (role, team) = match &caller {
        None => (Role::Operator, None),
        // Read again: a revoked role takes effect at once, also on other processes.
        Some(caller) if caller.role != Role::Member => {
            let member = store.member(caller.key.member).await?;
            member.map_or((Role::Member, None), |member| (member.role, member.team))
        }
        Some(caller) => (Role::Member, caller.team),
    };
    let actor = if let Some(caller) = &caller {
        format!("member:{}", caller.key.member)
    } else {
        request_log::note_operator();
        format!("console:{}", info.peer.ip())
    };
    let by = Actor { name: actor, request: Some(info.id.to_string()) };
    let query = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let service = service.clone();
    Ok(Some(PageContext { service, info, calls, session, query, team, caller, by, token, role }))
}

impl MemberContext {
    /// Sends a request of the member to a route of the API.
    pub(super) async fn send(&self, request: Request) -> ApiResult {
        self.calls.send_as(&self.info, &self.who.caller, request).await
    }
}

impl PageContext {
    pub(super) fn store(&self) -> &Store {
        &self.service.billing.store
    }

    /// A parameter of the query; empty if it is missing.
    pub(super) fn param(&self, name: &str) -> &str {
        self.query.get(name)
    }

    /// The number in the parameter `before`, the cursor of lists that are ordered newest first.
    pub(super) fn before(&self) -> Option<i64> {
        self.param("before").parse().ok().filter(|&before: &i64| before > 0)
    }

    /// Only for operators, and for actions on what belongs to the signed-in member.
    pub(super) fn operator(&self) -> Operator<'_> {
        Operator { store: self.store(), by: &self.by }
    }

    pub(super) fn frame(&self, title: &str, path: &str) -> Frame {
        let is_member = self.session.member.is_some();
        let is_of_operators = !is_member || path.starts_with(OPERATOR_PAGES.path);
        let mut nav = if is_of_operators { OPERATOR_NAV } else { MEMBER_NAV }.to_vec();
        match self.role {
            Role::Manager => nav.insert(TEAM_PLACE.min(nav.len()), TEAM.clone()),
            Role::Operator if is_of_operators && is_member => nav.push(OWN_PAGES.clone()),
            Role::Operator if is_member => nav.push(OPERATOR_PAGES.clone()),
            Role::Operator | Role::Member => {}
        }
        let name = self.caller.as_ref().map_or("Operator", |it| it.member_name.as_str());
        let detail = match &self.session.key {
            Some(key) => format!("Key {key}"),
            None => "Admin token".to_owned(),
        };
        Frame {
            nav: NavItem::marked(&nav, path),
            account: Some(Account { name: name.to_owned(), detail }),
            notice: Notice::done(DONE, self.param("done")),
            csrf: self.token.csrf(),
            ..page::frame(&self.service.config, title)
        }
    }

    /// The frame and the status of a page with a form, which may have been refused.
    pub(super) fn form_frame(
        &self,
        title: &str,
        path: &str,
        refusal: Option<Refusal>,
    ) -> (Frame, StatusCode) {
        let frame = self.frame(title, path);
        let Some(Refusal { status, field, message }) = refusal else {
            return (frame, StatusCode::OK);
        };
        (Frame { notice: Some(Notice::bad(message)), wrong: field, ..frame }, status)
    }

    /// The pager of a list that was read with one extra row.
    pub(super) fn pager<T>(
        &self,
        rows: &mut Vec<T>,
        limit: u32,
        cursor: impl Fn(&T) -> String,
    ) -> Pager {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(cursor);
        self.pager_to(next)
    }

    /// The pager of a list with this next cursor.
    pub(super) fn pager_to(&self, next: Option<String>) -> Pager {
        let is_later = !self.param("after").is_empty() || !self.param("before").is_empty();
        Pager { next: next.unwrap_or_default(), is_later }
    }

    /// The fields of a form, if a page of this site sent it.
    pub(super) async fn submitted(&self, request: Request) -> PageResult<Fields> {
        read_form(&self.service.config, &self.token, request).await
    }

    /// Refuses a script request unless it comes from a page of this site.
    pub(super) fn check_script(&self, headers: &HeaderMap) -> PageResult<()> {
        check_origin(&self.service.config, headers)?;
        let offered = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
        if offered.is_some_and(|offered| self.token.is_csrf(offered)) {
            Ok(())
        } else {
            Err(stale())
        }
    }
}

pub(super) async fn read_form(
    config: &Config,
    token: &Token,
    request: Request,
) -> PageResult<Fields> {
    let (head, form) = request.into_parts();
    check_origin(config, &head.headers)?;
    let limits = Limits { max_body_bytes: MAX_FORM_BYTES, ..config.limits.clone() };
    let fields = Fields::parse(&body::read(&limits, &head.headers, form).await?);
    if token.is_csrf(fields.get("csrf")) { Ok(fields) } else { Err(stale()) }
}

fn stale() -> PageError {
    PageError::forbidden("This form is out of date. Go back, reload the page and try again.")
}

/// Refuses a cross-site form.
fn check_origin(config: &Config, headers: &HeaderMap) -> PageResult<()> {
    let public = config.public_url.authority().map(Authority::as_str);
    if pages::is_same_site(headers, public) {
        return Ok(());
    }
    Err(PageError::forbidden("This form was not sent by a page of this service."))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    Session,
    /// Protects the sign-in form before there is a session. It is never a session.
    SignIn,
}

impl Cookie {
    pub(super) fn token(self, headers: &HeaderMap, config: &Config) -> Option<Token> {
        Token::of_cookie(headers, self.name(config))
    }

    /// Under HTTPS the prefix makes browsers refuse the cookie from any other host.
    fn name(self, config: &Config) -> &'static str {
        match (self, is_https(config)) {
            (Self::Session, true) => "__Host-agent-session",
            (Self::Session, false) => "agent-session",
            (Self::SignIn, true) => "__Host-agent-sign-in",
            (Self::SignIn, false) => "agent-sign-in",
        }
    }

    /// Sets the cookie for some seconds; without a token it is removed.
    pub(super) fn set(
        self,
        config: &Config,
        token: Option<&Token>,
        seconds: u64,
    ) -> Option<HeaderValue> {
        let (name, is_secure) = (self.name(config), is_https(config));
        match token {
            Some(token) => token.set_cookie(name, Some(seconds), is_secure),
            None => pages::remove_cookie(name, is_secure),
        }
    }
}

fn is_https(config: &Config) -> bool {
    config.public_url.scheme_str() == Some("https")
}
