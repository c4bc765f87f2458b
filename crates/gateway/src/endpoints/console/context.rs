//! A request of a signed-in person.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, Request};
use gateway_store::{Actor, NewSession, Role, Scope, Store, WebSession};
use http::header::USER_AGENT;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode};
use ledger::MemberId;
use pages::{Account, CSRF_HEADER, Frame, NavItem, Token};

use super::super::state::AppState;
use super::super::{body, check_host};
use super::cookie::Cookie;
use super::fields::Fields;
use super::page::{
    self, MEMBER_NAV, OPERATOR_NAV, OPERATOR_PAGES, OWN_PAGES, PageError, PageResult, Refusal, TEAM,
};
use crate::billing::Billing;
use crate::clock;
use crate::config::{Config, Limits};
use crate::identity::{Caller, Identities};
use crate::operator::Operator;
use crate::request_info::RequestInfo;
use crate::request_log;

/// A session is prolonged at most this often.
const RENEW_MICROS: i64 = 60 * 1_000_000;
const MAX_FORM_BYTES: u64 = 64 * 1024;
/// The most characters of a browser's name that are stored.
const MAX_CLIENT_CHARS: usize = 200;
/// The place of the team in the navigation of its manager, after the keys.
const TEAM_PLACE: usize = 4;
/// How long a session lasts unused, and at most, in seconds: of members and of operators.
const MEMBER_SECONDS: (u64, u64) = (12 * 3600, 7 * 86_400);
const OPERATOR_SECONDS: (u64, u64) = (3600, 12 * 3600);

pub(super) struct PageContext {
    pub(super) config: Arc<Config>,
    pub(super) billing: Arc<Billing>,
    pub(super) identities: Arc<Identities>,
    pub(super) info: RequestInfo,
    pub(super) session: WebSession,
    pub(super) query: Fields,
    token: Token,
    name: String,
    role: Role,
    pub(super) team: Option<MemberId>,
}

pub(super) enum SignedIn {
    Member(Box<MemberContext>),
    Operator(Box<OperatorContext>),
}

pub(super) struct MemberContext {
    context: PageContext,
    pub(super) caller: Caller,
}

pub(super) struct ManagerContext {
    context: MemberContext,
    pub(super) managed: MemberId,
    pub(super) by: Actor,
}

/// A request of an operator: a person with the admin token, or a member with this role.
pub(super) struct OperatorContext {
    context: PageContext,
    pub(super) by: Actor,
}

pub(super) struct SessionStarter<'a> {
    pub(super) config: &'a Config,
    pub(super) billing: &'a Billing,
    pub(super) info: &'a RequestInfo,
    pub(super) headers: &'a HeaderMap,
}

impl SessionStarter<'_> {
    /// Starts a session with a new token, so that one that the browser had before is never taken over;
    /// returns its cookie. Without a caller it is an operator's.
    pub(super) async fn start(&self, caller: Option<&Caller>) -> PageResult<HeaderValue> {
        let token = Token::draw().ok_or_else(PageError::internal)?;
        let (idle, most) = seconds(caller);
        let client = self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let session = NewSession {
            hash: token.hash(),
            member: caller.map(|caller| caller.key.member),
            key: caller.map(|caller| caller.key.id.clone()),
            client: client.unwrap_or_default().chars().take(MAX_CLIENT_CHARS).collect(),
            address: self.info.peer.ip().to_string(),
            idle_micros: micros(idle),
            max_micros: micros(most),
        };
        self.billing.store.create_session(&session).await?;
        let cookie = Cookie::Session.set(self.config, Some(&token), most);
        cookie.ok_or_else(PageError::internal)
    }
}

/// How long a session lasts unused, and at most.
fn seconds(caller: Option<&Caller>) -> (u64, u64) {
    let is_member = caller.is_some_and(|caller| caller.role != Role::Operator);
    if is_member { MEMBER_SECONDS } else { OPERATOR_SECONDS }
}

fn micros(seconds: u64) -> i64 {
    i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX)
}

/// The person of a request; `None` without a valid session. Foreign hosts are refused.
pub(super) async fn find(parts: &mut Parts, state: &AppState) -> PageResult<Option<SignedIn>> {
    let config = Arc::<Config>::from_ref(state);
    let billing = Arc::<Billing>::from_ref(state);
    let identities = Arc::<Identities>::from_ref(state);
    check_host(&config, &parts.headers)?;
    let Some(info) = parts.extensions.get::<RequestInfo>().copied() else { return Ok(None) };
    let Some(token) = Cookie::Session.token(&parts.headers, &config) else { return Ok(None) };
    let Some(session) = billing.store.session(token.hash()).await? else { return Ok(None) };
    let caller = match &session.key {
        None => None,
        // The session ends with its key.
        Some(key) => match identities.signed_in(key).await {
            Ok(caller) => Some(caller),
            Err(_) => return Ok(None),
        },
    };
    if clock::now().micros() - session.seen_at.micros() > RENEW_MICROS {
        let (idle, _) = seconds(caller.as_ref());
        billing.store.renew_session(session.hash, micros(idle)).await?;
    }
    let (role, team) = match &caller {
        None => (Role::Operator, None),
        // Read again: a role that was taken away ends at once, also on other processes.
        Some(caller) if caller.role != Role::Member => {
            let member = billing.store.member(caller.key.member).await?;
            member.map_or((Role::Member, None), |member| (member.role, member.team))
        }
        Some(caller) => (Role::Member, caller.team),
    };
    let query = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let name = caller.as_ref().map_or("Operator".to_owned(), |it| it.member_name.clone());
    let context =
        PageContext { config, billing, identities, info, session, query, token, name, role, team };
    Ok(match caller {
        Some(caller) => Some(SignedIn::Member(Box::new(MemberContext { context, caller }))),
        None if context.session.member.is_none() && context.config.admin_token.is_some() => {
            request_log::note_operator();
            let name = format!("console:{}", info.peer.ip());
            let by = Actor { name, request: Some(info.id.to_string()) };
            Some(SignedIn::Operator(Box::new(OperatorContext { context, by })))
        }
        None => None,
    })
}

impl PageContext {
    pub(super) fn store(&self) -> &Store {
        &self.billing.store
    }

    /// A parameter of the query; empty if it is missing.
    pub(super) fn param(&self, name: &str) -> &str {
        self.query.get(name)
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
        let item = |item: &NavItem| NavItem { is_current: item.path == path, ..item.clone() };
        let detail = match &self.session.key {
            Some(key) => format!("Key {key}"),
            None => "Admin token".to_owned(),
        };
        Frame {
            nav: nav.iter().map(item).collect(),
            account: Some(Account { name: self.name.clone(), detail, csrf: self.csrf() }),
            notice: page::done(self.param("done")),
            ..page::frame(&self.config, title)
        }
    }

    /// The frame of a page with a form, and the field that was refused.
    pub(super) fn form_frame(
        &self,
        title: &str,
        path: &str,
        refusal: Option<Refusal>,
    ) -> (Frame, &'static str) {
        let mut frame = self.frame(title, path);
        let Some(Refusal { field, message }) = refusal else { return (frame, "") };
        frame.notice = Some(page::refused(message));
        (frame, field)
    }

    pub(super) fn starter<'a>(&'a self, headers: &'a HeaderMap) -> SessionStarter<'a> {
        let (config, billing, info) = (&*self.config, &*self.billing, &self.info);
        SessionStarter { config, billing, info, headers }
    }

    pub(super) fn csrf(&self) -> String {
        self.token.csrf()
    }

    /// The fields of a form, if a page of this site sent it.
    pub(super) async fn submitted(&self, request: Request) -> PageResult<Fields> {
        read_form(&self.config, &self.token, request).await
    }

    /// Refuses a request of a script unless a page of this site sent it.
    pub(super) fn check_script(&self, headers: &HeaderMap) -> PageResult<()> {
        check_origin(&self.config, headers)?;
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

/// Refuses a form of another site.
fn check_origin(config: &Config, headers: &HeaderMap) -> PageResult<()> {
    let public = config.public_url.authority().map(Authority::as_str);
    if pages::is_same_site(headers, public) {
        return Ok(());
    }
    Err(PageError::forbidden("This form was not sent by a page of this service."))
}

impl FromRequestParts<AppState> for MemberContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> PageResult<Self> {
        match find(parts, state).await? {
            Some(SignedIn::Member(context)) => Ok(*context),
            Some(SignedIn::Operator(_)) => Err(PageError::new(
                StatusCode::FORBIDDEN,
                "This page belongs to members. You are signed in as the operator.",
            )),
            None => Err(sign_in_first(parts)),
        }
    }
}

impl FromRequestParts<AppState> for OperatorContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> PageResult<Self> {
        match find(parts, state).await? {
            Some(SignedIn::Operator(context)) => Ok(*context),
            Some(SignedIn::Member(context)) => context.into_operator(),
            None => Err(sign_in_first(parts)),
        }
    }
}

impl FromRequestParts<AppState> for ManagerContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> PageResult<Self> {
        let context = MemberContext::from_request_parts(parts, state).await?;
        match context.team {
            Some(managed) if context.role == Role::Manager => {
                let by = context.member_actor();
                Ok(Self { context, managed, by })
            }
            _ => Err(PageError::forbidden("This page is for the manager of a team.")),
        }
    }
}

impl OperatorContext {
    pub(super) fn operator(&self) -> Operator<'_> {
        Operator { store: self.store(), by: &self.by }
    }
}

impl MemberContext {
    pub(super) fn member_actor(&self) -> Actor {
        let name = format!("member:{}", self.caller.key.member);
        Actor { name, request: Some(self.info.id.to_string()) }
    }

    fn into_operator(self) -> PageResult<OperatorContext> {
        if self.role != Role::Operator {
            return Err(PageError::forbidden("This page is for operators of the service."));
        }
        // A key that was made for one purpose must not open everything.
        if self.caller.key.scopes.len() < Scope::ALL.len() {
            let message = "Sign in with a key of all scopes to use the pages of operators.";
            return Err(PageError::forbidden(message));
        }
        request_log::note_operator();
        let by = self.member_actor();
        Ok(OperatorContext { context: self.context, by })
    }
}

impl Deref for ManagerContext {
    type Target = MemberContext;

    fn deref(&self) -> &MemberContext {
        &self.context
    }
}

fn sign_in_first(parts: &Parts) -> PageError {
    let address = parts.uri.path_and_query().map_or("/", |it| it.as_str());
    PageError::SignIn(if parts.method == http::Method::GET { address } else { "/" }.to_owned())
}

impl FromRequestParts<AppState> for PageContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> PageResult<Self> {
        match find(parts, state).await? {
            Some(SignedIn::Member(context)) => Ok(context.context),
            Some(SignedIn::Operator(context)) => Ok(context.context),
            None => Err(sign_in_first(parts)),
        }
    }
}

impl Deref for MemberContext {
    type Target = PageContext;

    fn deref(&self) -> &PageContext {
        &self.context
    }
}

impl Deref for OperatorContext {
    type Target = PageContext;

    fn deref(&self) -> &PageContext {
        &self.context
    }
}
