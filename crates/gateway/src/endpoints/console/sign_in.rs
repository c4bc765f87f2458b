//! `GET /`: the overview of a member, signing in and out.

use askama::Template;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use gateway_store::WebSession;
use http::header::SET_COOKIE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use ledger::BudgetStatus;
use pages::{Fields, Frame, Html, Notice, Token};

use super::super::admin::is_same;
use super::super::me::MemberState;
use super::super::{AppState, Id, check_host, not_found};
use super::context::{
    self, Access as _, Cookie, MemberAccess, MemberContext, PageContext, start_session,
};
use super::page::{self, DONE, PageError, PageResult, redirect};
use super::receipts::ReceiptRow;
use super::{accepts_html, filters, usage};
use crate::config::Config;
use crate::identity::hex;
use crate::request_info::RequestInfo;

/// Lifetime of the form, in seconds.
const FORM_SECONDS: u64 = 3600;

#[derive(Template)]
#[template(path = "console/sign_in.html")]
struct SignInPage {
    frame: Frame,
    next: String,
}

/// A browser that follows a cross-site link sends no cookie; this page reloads from this site.
#[derive(Template)]
#[template(
    source = "<!doctype html><title>agent</title><meta http-equiv=\"refresh\" content=\"0\">",
    ext = "html"
)]
struct AskAgain;

/// The overview of a person who is signed in, or the sign-in page. Programs get JSON.
pub(super) async fn root(State(service): State<AppState>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    if !accepts_html(&parts.headers) {
        return not_found(&parts.uri, "").into_response();
    }
    shown(&mut parts, &service).await.unwrap_or_else(IntoResponse::into_response)
}

async fn shown(parts: &mut Parts, service: &AppState) -> PageResult {
    let query = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
    match context::find(parts, service).await? {
        Some(context) if context.caller.is_none() => Ok(redirect("/operator")),
        Some(_) if is_local(query.get("next")) => Ok(redirect(query.get("next"))),
        Some(context) => {
            let who = MemberAccess::check(&context, parts.uri.path())?;
            overview(MemberContext { context, who }).await
        }
        None if parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") => {
            page::show(&AskAgain)
        }
        None => {
            let notice = Notice::done(DONE, query.get("done"));
            form(&service.config, &parts.headers, query.get("next"), StatusCode::OK, notice)
        }
    }
}

fn form(
    config: &Config,
    headers: &HeaderMap,
    next: &str,
    status: StatusCode,
    notice: Option<Notice>,
) -> PageResult {
    // The token of a form that is open in another tab stays valid.
    let token = Cookie::SignIn.token(headers, config).or_else(Token::draw);
    let token = token.ok_or_else(PageError::internal)?;
    let page = SignInPage {
        frame: Frame { notice, csrf: token.csrf(), ..page::frame(config, "Sign in") },
        next: if is_local(next) { next.to_owned() } else { String::new() },
    };
    let mut response = page::show_as(status, &page)?;
    let cookie = Cookie::SignIn.set(config, Some(&token), FORM_SECONDS);
    response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
    Ok(response)
}

pub(super) async fn sign_in(
    State(service): State<AppState>,
    info: RequestInfo,
    request: Request,
) -> PageResult {
    let config = &service.config;
    check_host(config, request.headers())?;
    let headers = request.headers().clone();
    let Some(token) = Cookie::SignIn.token(&headers, config) else {
        let notice = Notice::bad("The form was open too long, or cookies are off. Try again.");
        return form(config, &headers, "", StatusCode::FORBIDDEN, Some(notice));
    };
    let fields = context::read_form(config, &token, request).await?;
    let key = fields.get("key");
    let is_operator = config.admin_token.as_ref().is_some_and(|it| is_same(it.reveal(), key));
    let caller = if is_operator { None } else { Some(service.identities.holder(key).await) };
    let caller = match caller.transpose() {
        Ok(caller) => caller,
        Err(error) => {
            tracing::warn!(peer = %info.peer.ip(), code = error.code().as_str(), "sign-in refused");
            let text = match error.code().status() {
                401 => "This key is not valid. It may be mistyped, expired or revoked.",
                403 => "The operator of this service blocked this member.",
                _ => return Err(error.into()),
            };
            let notice = Notice::bad(text);
            let next = fields.get("next");
            return form(config, &headers, next, StatusCode::UNAUTHORIZED, Some(notice));
        }
    };
    let next = Some(fields.get("next")).filter(|next| is_local(next)).unwrap_or("/");
    let mut response = redirect(next);
    let session = start_session(&service, &info, &headers, caller.as_ref()).await?;
    response.headers_mut().append(SET_COOKIE, session);
    if let Some(gone) = Cookie::SignIn.set(config, None, 0) {
        response.headers_mut().append(SET_COOKIE, gone);
    }
    Ok(response)
}

pub(super) async fn sign_out(context: PageContext, request: Request) -> PageResult {
    context.submitted(request).await?;
    context.store().end_session(context.session.member, context.session.hash).await?;
    let mut response = redirect("/?done=signed-out");
    let gone = Cookie::Session.set(&context.service.config, None, 0);
    response.headers_mut().extend(gone.map(|cookie| (SET_COOKIE, cookie)));
    Ok(response)
}

/// Whether an address is a page of this site. Browsers read `//` and `/\` as another host.
fn is_local(address: &str) -> bool {
    address.starts_with('/')
        && !address.starts_with("//")
        && !address.contains(['\\', '\r', '\n', '\t'])
}

#[derive(Template)]
#[template(path = "console/sessions.html")]
struct SessionsPage {
    frame: Frame,
    sessions: Vec<WebSession>,
    /// The session of this request.
    own: [u8; 32],
}

pub(super) async fn sessions(context: PageContext) -> PageResult {
    let sessions = context.store().sessions(context.session.member).await?;
    let own = context.session.hash;
    page::show(&SessionsPage { frame: context.frame("Sessions", ""), sessions, own })
}

pub(super) async fn end(context: PageContext, Id(id): Id, request: Request) -> PageResult {
    context.submitted(request).await?;
    let sessions = context.store().sessions(context.session.member).await?;
    let found = sessions.iter().find(|session| hex(&session.hash) == id);
    let found = found.ok_or_else(|| PageError::missing("session"))?;
    context.store().end_session(context.session.member, found.hash).await?;
    Ok(redirect("/sessions?done=session-ended"))
}

fn browser(client: &str) -> String {
    const BROWSERS: [(&str, &str); 5] = [
        ("Edg/", "Edge"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| client.contains(mark)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "Unknown browser".to_owned(),
    }
}

const RECENT: u32 = 8;

#[derive(Template)]
#[template(path = "console/overview.html")]
struct OverviewPage {
    frame: Frame,
    state: MemberState,
    budgets: Vec<BudgetStatus>,
    recent: Vec<ReceiptRow>,
    usage: Html,
}

/// The first page of a member: balance, spend, recent receipts.
async fn overview(context: MemberContext) -> PageResult {
    let (store, member) = (context.store(), context.who.caller.key.member);
    let state = MemberState::load(store, &context.who.caller).await?;
    let recent = if state.team.is_some() {
        let receipts = store.team_receipts(member, None, RECENT).await?;
        receipts.into_iter().map(ReceiptRow::from).collect()
    } else {
        let lines = store.statement(member, i64::MAX, RECENT).await?;
        lines.into_iter().map(ReceiptRow::from).collect()
    };
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/"),
        budgets: state.budgets(&context.service.billing.windows()),
        state,
        recent,
        usage: usage::recent(&context).await?,
    })
}
