//! Advice when a server requires a sign-in, or when one failed.

use mcp_client::config::ServerEntry;
use mcp_client::oauth::challenge::{self, Challenge};
use mcp_client::oauth::redirect::RedirectError;
use mcp_client::oauth::{Error, LikelyCause};

use super::{one, operand, operand_with};
use crate::mcp::{is_alone, oauth};

pub(crate) fn login(name: &str) -> String {
    format!("`agent mcp login {}`", operand(name))
}

pub(crate) fn logout(name: &str) -> String {
    format!("`agent mcp logout {}`", operand(name))
}

/// The server requires a sign-in.
pub(super) fn required(challenge: Option<&str>, entry: &ServerEntry) -> Vec<String> {
    let name = &entry.name;
    if is_alone(entry) {
        return vec![own_keys(name)];
    }
    if oauth(entry).is_some() {
        return one(format!("run {}", login(name)));
    }
    let with_header = format!(
        "set a credential in `headers` of {name}, from a variable in the profile's `.env`: \
         `Authorization: Bearer ${{NAME}}`"
    );
    // A server that publishes its metadata supports sign-in.
    let offers = |challenge: &Challenge| {
        challenge.scheme() == "bearer" && challenge.param("resource_metadata").is_some()
    };
    if challenge.is_some_and(|text| challenge::parse(text).iter().any(offers)) {
        return vec![
            format!("set `auth: oauth` for {name} in config.yaml, then run {}", login(name)),
            format!("or {with_header}"),
        ];
    }
    vec![with_header]
}

fn own_keys(name: &str) -> String {
    format!("it signs in automatically: check the keys under `oauth` of {name}")
}

/// The server rejected the scope of the sign-in.
pub(super) fn forbidden(
    challenge: Option<&str>,
    entry: &ServerEntry,
    granted: Option<&str>,
) -> Vec<String> {
    let name = &entry.name;
    let challenges = challenge.map(challenge::parse).unwrap_or_default();
    let lacking = |challenge: &&Challenge| challenge.param("error") == Some("insufficient_scope");
    if let Some(lacking) = challenges.iter().find(lacking)
        && oauth(entry).is_some()
    {
        let configured = oauth(entry).and_then(|options| options.scope.as_ref());
        let configured = configured.map(mcp_client::config::Text::shown).unwrap_or_default();
        let scope = union(granted.unwrap_or_default(), configured);
        let scope = union(&scope, lacking.param("scope").unwrap_or_default());
        if is_alone(entry) {
            return one(format!(
                "the token lacks a required scope: set `oauth.scope` of {name} to \"{scope}\""
            ));
        }
        let more = if scope.is_empty() { String::new() } else { format!("--scope \"{scope}\"") };
        return one(format!(
            "the token lacks a required scope: run `agent mcp login {}`",
            operand_with(name, &more)
        ));
    }
    if is_alone(entry) {
        return one(format!("the client lacks permission; {}", own_keys(name)));
    }
    if oauth(entry).is_some() {
        return one(format!(
            "this account lacks permission: run {} with an account that has it",
            login(name)
        ));
    }
    one(
        "the credential lacks permission, or none was sent: check `headers` and the permissions of \
         the credential",
    )
}

/// The distinct scopes of both lists, without those that have shell metacharacters.
fn union(some: &str, other: &str) -> String {
    let is_plain = |scope: &&str| {
        scope.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '$' | '`' | '!'))
    };
    let mut all: Vec<&str> = Vec::new();
    for scope in some.split_whitespace().chain(other.split_whitespace()).filter(is_plain) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    all.join(" ")
}

/// A sign-in or its renewal failed.
pub(super) fn failed(error: &Error, entry: &ServerEntry, granted: Option<&str>) -> Vec<String> {
    let name = &entry.name;
    match error {
        Error::Discovery { .. } => one(format!(
            "check `url` of {name}; remove `auth: oauth` if the server does not use OAuth"
        )),
        Error::WrongResource { .. } => one(format!(
            "if that is the server you mean, set `url` of {name} to the address it reports"
        )),
        Error::WrongIssuer { .. } => one(
            "nothing was sent to it: tell the server's operator that its metadata names another \
             issuer",
        ),
        Error::Insecure { .. } => one(
            "nothing was sent to it: its operator must offer https (plain http is allowed only on \
             this machine)",
        ),
        Error::NoPkce { .. } => one(
            "the sign-in was stopped, because codes could be stolen: its operator must offer PKCE",
        ),
        Error::NoPage { .. } => one("its operator must publish an authorization endpoint"),
        Error::NoIdentity { .. } => vec![by_hand(name)],
        Error::NoDeviceCode { .. } => {
            one(format!("sign in with a browser: {}; it can be on another machine", login(name)))
        }
        Error::CodeExpired { .. } => {
            one(format!("get a new code: `agent mcp login {}`", operand_with(name, "--device")))
        }
        Error::Moved { .. } => one(format!(
            "if that is correct, run {} and then {}; set a client id of the new issuer in \
             `oauth.client_id`",
            logout(name),
            login(name)
        )),
        Error::Registration { status: 401 | 403, .. } => only_known_clients(name),
        Error::Registration { status, .. } if *status < 500 => vec![by_hand(name)],
        Error::Registration { .. } | Error::Unavailable { .. } | Error::Silent { .. } => {
            one("the authorization server has a problem; try again later")
        }
        Error::Redirect(fault) => refused_redirect(fault, name),
        Error::TimedOut { suspect, .. } => timed_out(suspect, name),
        Error::Cancelled => one(format!("start again with {}", login(name))),
        Error::Refused { code, .. } => refused(code, name),
        Error::Malformed { .. } => {
            one("the authorization server does not support OAuth there: tell its operator")
        }
        Error::Unreached(inner) => super::advice(inner, entry, granted),
        Error::Assertion { .. } => {
            one(format!("correct the key of `oauth` of {name} that it is derived from"))
        }
        Error::Unattended(inner) => alone(inner, entry, granted),
        Error::TokenRejected => one(format!(
            "the server rejected a newly issued token: check `url` and `oauth.scope` of {name}, \
             and the permissions of this client"
        )),
        Error::PortTaken { .. }
        | Error::NoPort { .. }
        | Error::PortsTaken { .. }
        | Error::Store { .. }
        | Error::Keychain { .. }
        | Error::Busy { .. }
        | Error::NoFolder => on_this_machine(error, name),
    }
}

/// Steps that the person can take on this machine.
fn on_this_machine(error: &Error, name: &str) -> Vec<String> {
    match error {
        Error::PortTaken { .. } => one(format!(
            "stop the other program, or set `oauth.redirect_port` of {name} to another port (one \
             that the client is registered with)"
        )),
        Error::NoPort { .. } => one("check that programs may listen on 127.0.0.1"),
        Error::PortsTaken { .. } => vec![
            "stop the programs that use these ports; another `agent` may be waiting there for a \
             sign-in"
                .to_owned(),
            format!("or sign in without the document: {}", by_hand(name)),
        ],
        Error::Store { .. } => one(
            "check the free disk space and the owner of the folder; the old tokens are unchanged",
        ),
        Error::Keychain { .. } => vec![
            "unlock the keychain, for example by logging in to the desktop, and try again"
                .to_owned(),
            format!("or set `secrets.store: file` in config.yaml, then run {}", login(name)),
        ],
        Error::Busy { .. } => one("try again when the other process has finished"),
        Error::NoFolder => one("set AGENT_HOME to a folder you own"),
        _ => Vec::new(),
    }
}

fn by_hand(name: &str) -> String {
    format!(
        "register a client with the authorization server by hand, with the redirect URI \
         `http://127.0.0.1:PORT/callback`; then set `oauth.client_id` and `oauth.redirect_port` of \
         {name} (and `oauth.client_secret`, as `${{NAME}}`, if you get one)"
    )
}

fn timed_out(suspect: &LikelyCause, name: &str) -> Vec<String> {
    let mut hints = one(format!(
        "try again: {}; wait longer with `--timeout SECONDS`; over SSH, you can paste the address",
        login(name)
    ));
    if let LikelyCause::Document(_) = suspect {
        hints.push(format!(
            "if the page showed an invalid client, set `oauth.cimd: false` for {name} first"
        ));
    }
    hints
}

/// A sign-in without a person failed: a login cannot help.
fn alone(error: &Error, entry: &ServerEntry, granted: Option<&str>) -> Vec<String> {
    let name = &entry.name;
    let Error::Refused { code, .. } = error else { return failed(error, entry, granted) };
    vec![match code.as_str() {
        "invalid_client" | "unauthorized_client" => format!(
            "check `oauth.client_id` of {name}, its `client_secret` or `private_key`, and that it \
             may sign in without a person"
        ),
        "invalid_grant" => format!(
            "the assertion was rejected: check `oauth.assertion_file` of {name}; it may have \
             expired, or be issued for another authorization server"
        ),
        "invalid_scope" => format!("set `oauth.scope` of {name} to scopes that the server knows"),
        _ => own_keys(name),
    }]
}

fn only_known_clients(name: &str) -> Vec<String> {
    vec![
        "this server accepts only clients it knows; there are three ways:".to_owned(),
        by_hand(name),
        format!(
            "or use the client of the server itself: its documentation may give a client id for \
             `oauth.client_id` and a port for `oauth.redirect_port` of {name}"
        ),
        format!(
            "or use an access token instead: remove `auth: oauth` and set `headers` of {name} to \
             `Authorization: Bearer ${{NAME}}`"
        ),
    ]
}

fn refused_redirect(fault: &RedirectError, name: &str) -> Vec<String> {
    match fault {
        RedirectError::Refused { error, .. } => refused(error, name),
        RedirectError::MissingIssuer | RedirectError::WrongIssuer => one(
            "the code was not used, because sign-ins may be mixed up; if this happens again, tell \
             the server's operator",
        ),
        _ => one(format!("try again: {}", login(name))),
    }
}

fn refused(code: &str, name: &str) -> Vec<String> {
    vec![match code {
        "invalid_client" | "unauthorized_client" => format!(
            "check `oauth.client_id` and `oauth.client_secret` of {name}; if they are not set, run \
             {} and {} to register again",
            logout(name),
            login(name)
        ),
        "invalid_scope" => format!(
            "use scopes that the server knows: `agent mcp login {}`, or `oauth.scope`",
            operand_with(name, "--scope \"...\"")
        ),
        "access_denied" => {
            format!("access was denied on the page; try again with {}", login(name))
        }
        _ => format!("try again: {}", login(name)),
    }]
}

#[cfg(test)]
mod tests;
