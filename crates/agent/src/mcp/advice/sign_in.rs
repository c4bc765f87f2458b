//! What to do when a server wants a sign-in, or when one did not work.

use mcp_client::config::ServerEntry;
use mcp_client::oauth::challenge::{self, Challenge};
use mcp_client::oauth::redirect::RedirectError;
use mcp_client::oauth::{Error, LikelyCause};

use super::{operand, operand_with};
use crate::mcp::{is_alone, oauth};

/// The command that signs in.
pub(crate) fn login(name: &str) -> String {
    format!("`agent mcp login {}`", operand(name))
}

/// The command that forgets a sign-in.
pub(crate) fn logout(name: &str) -> String {
    format!("`agent mcp logout {}`", operand(name))
}

/// The server answered that somebody has to sign in.
pub(super) fn wanted(challenge: Option<&str>, entry: &ServerEntry) -> Vec<String> {
    let name = &entry.name;
    if is_alone(entry) {
        return vec![own_keys(name)];
    }
    if oauth(entry).is_some() {
        return vec![format!("run {}", login(name))];
    }
    let with_header = format!(
        "put a credential under `headers` of {name}, from a variable of the profile's `.env`: \
         `Authorization: Bearer ${{NAME}}`"
    );
    // Whoever names its metadata can be signed in to.
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

/// What a program signs in with.
fn own_keys(name: &str) -> String {
    format!("it signs in by itself: check the keys under `oauth` of {name}")
}

/// The server refused what we are signed in for.
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
            return vec![format!(
                "what was granted does not reach this far: set `oauth.scope` of {name} to \"{scope}\""
            )];
        }
        let more = if scope.is_empty() { String::new() } else { format!("--scope \"{scope}\"") };
        return vec![format!(
            "what was granted does not reach this far: run `agent mcp login {}`",
            operand_with(name, &more)
        )];
    }
    if is_alone(entry) {
        return vec![format!("the client is not allowed this; {}", own_keys(name))];
    }
    if oauth(entry).is_some() {
        return vec![format!(
            "whoever signed in is not allowed this: {} as somebody who is",
            login(name)
        )];
    }
    vec![
        "the credential is known but not allowed this, or none was sent: check `headers`, and \
         what the credential may do"
            .to_owned(),
    ]
}

/// All scopes of both lists, each once, and none that a shell would take for more.
fn union(one: &str, other: &str) -> String {
    let is_plain = |scope: &&str| {
        scope.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '$' | '`' | '!'))
    };
    let mut all: Vec<&str> = Vec::new();
    for scope in one.split_whitespace().chain(other.split_whitespace()).filter(is_plain) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    all.join(" ")
}

/// A sign-in, or the renewal of one, did not work.
pub(super) fn failed(error: &Error, entry: &ServerEntry, granted: Option<&str>) -> Vec<String> {
    let name = &entry.name;
    match error {
        Error::Discovery { .. } => vec![format!(
            "check `url` of {name}; a server that does not sign people in needs no `auth: oauth`"
        )],
        Error::WrongResource { .. } => vec![format!(
            "write the address that it speaks for as `url` of {name}, if that is the server you mean"
        )],
        Error::WrongIssuer { .. } => vec![
            "nothing was sent to it: tell the server's operator that its metadata names another \
             issuer"
                .to_owned(),
        ],
        Error::Insecure { .. } => vec![
            "nothing was sent to it: its operator must offer https (plain http is only for this \
             machine)"
                .to_owned(),
        ],
        Error::NoPkce { .. } => vec![
            "a code could be stolen on its way, so it is not used: its operator must offer PKCE"
                .to_owned(),
        ],
        Error::NoPage { .. } => {
            vec!["its operator must publish an authorization endpoint".to_owned()]
        }
        Error::NoIdentity { .. } => vec![by_hand(name)],
        Error::Moved { .. } => vec![format!(
            "if that is so, {} and then {}; a client id of the new issuer belongs in \
             `oauth.client_id`",
            logout(name),
            login(name)
        )],
        Error::Registration { status: 401 | 403, .. } => only_known_clients(name),
        Error::Registration { status, .. } if *status < 500 => vec![by_hand(name)],
        Error::Registration { .. } | Error::Unavailable { .. } | Error::Silent { .. } => {
            vec!["the authorization server is in trouble; try again later".to_owned()]
        }
        Error::PortTaken { .. } => vec![format!(
            "end the other program, or give `oauth.redirect_port` of {name} another port (one that \
             the client is registered with)"
        )],
        Error::NoPort { .. } => vec!["check that programs may listen on 127.0.0.1".to_owned()],
        Error::Redirect(fault) => refused_redirect(fault, name),
        Error::PortsTaken { .. } => vec![
            "end the programs that listen on these ports; `agent` itself may wait there for \
             another sign-in"
                .to_owned(),
            format!("or do without the document: {}", by_hand(name)),
        ],
        Error::TimedOut { suspect, .. } => timed_out(suspect, name),
        Error::Cancelled => vec![format!("{} begins again", login(name))],
        Error::Refused { code, .. } => refused(code, name),
        Error::Malformed { .. } => {
            vec![
                "the authorization server does not speak OAuth there: tell its operator".to_owned(),
            ]
        }
        Error::Unreached(inner) => super::advice_with(inner, entry, granted),
        Error::Assertion { .. } => {
            vec![format!("correct the key of `oauth` of {name} that it is made from")]
        }
        Error::Unattended(inner) => alone(inner, entry, granted),
        Error::TokenRejected => vec![format!(
            "a token was granted, and the server wants another: check `url` and `oauth.scope` of \
             {name}, and what its operator lets this client do"
        )],
        Error::Store { .. } => vec![
            "check that the disk is not full and that the folder is yours; the old tokens are as \
             they were"
                .to_owned(),
        ],
        Error::Busy { .. } => vec!["try again when the other process is done".to_owned()],
        Error::NoFolder => vec!["set AGENT_HOME to a folder of yours".to_owned()],
    }
}

fn by_hand(name: &str) -> String {
    format!(
        "register a client with the authorization server by hand, with the redirect address \
         `http://127.0.0.1:PORT/callback`; then set `oauth.client_id` and `oauth.redirect_port` of \
         {name} (and `oauth.client_secret`, as `${{NAME}}`, if it gives you one)"
    )
}

fn timed_out(suspect: &LikelyCause, name: &str) -> Vec<String> {
    let mut hints = vec![format!(
        "try again: {}; `--timeout SECONDS` waits longer, and over SSH the address can be pasted",
        login(name)
    )];
    if let LikelyCause::Document(_) = suspect {
        hints.push(format!(
            "if the page showed an invalid client, set `oauth.cimd: false` for {name} first"
        ));
    }
    hints
}

/// A sign-in without a person did not work: no login of a person would help.
fn alone(error: &Error, entry: &ServerEntry, granted: Option<&str>) -> Vec<String> {
    let name = &entry.name;
    let Error::Refused { code, .. } = error else { return failed(error, entry, granted) };
    vec![match code.as_str() {
        "invalid_client" | "unauthorized_client" => format!(
            "check `oauth.client_id` of {name}, its `client_secret` or `private_key`, and that it \
             may sign in by itself"
        ),
        "invalid_grant" => format!(
            "what vouches for us was refused: check `oauth.assertion_file` of {name}; it may have \
             expired, or be meant for another authorization server"
        ),
        "invalid_scope" => format!("name the scopes that it knows in `oauth.scope` of {name}"),
        _ => own_keys(name),
    }]
}

fn only_known_clients(name: &str) -> Vec<String> {
    vec![
        "this server only takes clients it knows; there are three ways:".to_owned(),
        by_hand(name),
        format!(
            "or use a client of the server's own: its documentation may name a client id for \
             `oauth.client_id` and a port for `oauth.redirect_port` of {name}"
        ),
        format!(
            "or use an access token instead: remove `auth: oauth` and set `headers` of {name} to \
             `Authorization: Bearer ${{NAME}}`"
        ),
    ]
}

fn refused_redirect(fault: &RedirectError, name: &str) -> Vec<String> {
    vec![match fault {
        RedirectError::Refused { error, .. } if error == "access_denied" => {
            format!("the page said no; {} asks again", login(name))
        }
        RedirectError::Refused { error, .. } if error == "invalid_scope" => format!(
            "name the scopes that it knows: `agent mcp login {}`, or `oauth.scope`",
            operand_with(name, "--scope \"...\"")
        ),
        RedirectError::MissingIssuer | RedirectError::WrongIssuer => {
            "somebody may be mixing up sign-ins, so the code was not used; if it stays, tell the \
             server's operator"
                .to_owned()
        }
        _ => format!("try again: {}", login(name)),
    }]
}

fn refused(code: &str, name: &str) -> Vec<String> {
    vec![match code {
        "invalid_client" | "unauthorized_client" => format!(
            "check `oauth.client_id` and `oauth.client_secret` of {name}; without them, {} and {} \
             registers anew",
            logout(name),
            login(name)
        ),
        "invalid_scope" => format!(
            "name the scopes that it knows: `agent mcp login {}`, or `oauth.scope`",
            operand_with(name, "--scope \"...\"")
        ),
        _ => format!("try again: {}", login(name)),
    }]
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use mcp_client::config::{Auth, Endpoint, HttpEndpoint};

    use super::*;
    use crate::mcp::advice::{advice, advice_with};

    fn entry(auth: Auth) -> ServerEntry {
        let http = HttpEndpoint { auth, ..HttpEndpoint::new("https://example.com/mcp") };
        ServerEntry::new("docs", Endpoint::Http(Box::new(http)))
    }

    fn signed() -> ServerEntry {
        entry(Auth::OAuth(Box::default()))
    }

    #[test]
    fn nobody_is_asked_to_sign_in_where_no_person_is_needed() {
        let flow = mcp_client::config::Flow::Workload;
        let options = mcp_client::config::OauthOptions { flow, ..Default::default() };
        let entry = entry(Auth::OAuth(Box::new(options)));
        let refused = Error::Refused { status: 400, code: "x".to_owned(), description: None };
        let scope = "Bearer error=\"insufficient_scope\", scope=\"write\"".to_owned();
        let body = String::new;
        for error in [
            mcp_client::Error::SignIn { challenge: None },
            mcp_client::Error::Forbidden { challenge: None, body: body() },
            mcp_client::Error::Forbidden { challenge: Some(scope), body: body() },
            Error::Unattended(Box::new(refused)).into(),
            Error::TokenRejected.into(),
        ] {
            let hints = advice_with(&error, &entry, Some("read"));
            assert!(!hints.is_empty(), "{error}");
            assert!(!hints.iter().any(|hint| hint.contains("login")), "{error}: {hints:?}");
        }
    }

    #[test]
    fn a_sign_in_names_the_way_that_fits() {
        let of = |challenge: Option<&str>, entry: &ServerEntry| {
            let challenge = challenge.map(str::to_owned);
            advice(&mcp_client::Error::SignIn { challenge }, entry)
        };
        assert_eq!(of(None, &signed()), ["run `agent mcp login docs`"]);
        let plain = of(None, &entry(Auth::Static));
        assert!(plain.len() == 1 && plain[0].contains("headers"), "{plain:?}");
        let basic = of(Some("Basic realm=x"), &entry(Auth::Static));
        assert_eq!(basic, plain);
        let named = "Bearer resource_metadata=\"https://example.com/x\"";
        let offered = of(Some(named), &entry(Auth::Static));
        assert!(offered[0].contains("set `auth: oauth`"), "{offered:?}");
        assert!(offered[0].contains("`agent mcp login docs`"), "{offered:?}");
    }

    #[test]
    fn a_scope_that_is_missing_is_asked_for_beside_those_there_are() {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"write read\"";
        let error = mcp_client::Error::Forbidden {
            challenge: Some(challenge.to_owned()),
            body: String::new(),
        };
        let hints = advice_with(&error, &signed(), Some("read list"));
        assert!(
            hints[0].ends_with("`agent mcp login docs --scope \"read list write\"`"),
            "{hints:?}"
        );
        assert!(advice(&error, &entry(Auth::Static))[0].contains("headers"));
        // A server's words never become a command of their own.
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"a $(x) `y` b;c\"";
        let error = mcp_client::Error::Forbidden {
            challenge: Some(challenge.to_owned()),
            body: String::new(),
        };
        assert!(advice(&error, &signed())[0].ends_with("--scope \"a b;c\"`"));
    }

    #[test]
    fn every_way_to_fail_has_something_to_do_next() {
        let text = || "x".to_owned();
        let registration =
            |status| Error::Registration { issuer: text(), status, code: None, description: None };
        let refused =
            |code: &str| Error::Refused { status: 400, code: code.to_owned(), description: None };
        let source = || io::Error::other("x");
        let second = Duration::from_secs(1);
        let cases = [
            (Error::Discovery { url: text(), reason: text() }, "check `url`"),
            (Error::WrongResource { url: text(), found: text() }, "`url` of docs"),
            (Error::WrongIssuer { url: text(), found: text(), expected: text() }, "operator"),
            (Error::Insecure { what: "x", url: text() }, "https"),
            (Error::NoPkce { issuer: text() }, "PKCE"),
            (Error::NoPage { issuer: text() }, "authorization endpoint"),
            (Error::NoIdentity { issuer: text() }, "`oauth.client_id`"),
            (Error::Moved { expected: text(), found: text() }, "`agent mcp logout docs`"),
            (registration(403), "three ways"),
            (registration(400), "by hand"),
            (registration(503), "later"),
            (Error::PortTaken { port: 1 }, "`oauth.redirect_port`"),
            (Error::NoPort { source: source() }, "127.0.0.1"),
            (Error::Redirect(RedirectError::WrongIssuer), "mixing up"),
            (Error::Redirect(RedirectError::NoCode), "`agent mcp login docs`"),
            (Error::TimedOut { after: second, suspect: LikelyCause::Unknown }, "--timeout"),
            (
                Error::TimedOut { after: second, suspect: LikelyCause::Document(text()) },
                "`oauth.cimd",
            ),
            (Error::TimedOut { after: second, suspect: LikelyCause::Registration }, "try again"),
            (Error::PortsTaken { issuer: text() }, "`oauth.redirect_port`"),
            (Error::TokenRejected, "`oauth.scope`"),
            (Error::Unattended(Box::new(refused("invalid_client"))), "`client_secret`"),
            (Error::Unattended(Box::new(refused("invalid_grant"))), "`oauth.assertion_file`"),
            (Error::Unattended(Box::new(refused("other"))), "by itself"),
            (Error::Unattended(Box::new(Error::NoPkce { issuer: text() })), "PKCE"),
            (Error::Cancelled, "`agent mcp login docs`"),
            (refused("invalid_client"), "`oauth.client_secret`"),
            (refused("invalid_scope"), "`oauth.scope`"),
            (refused("other"), "`agent mcp login docs`"),
            (Error::Unavailable { url: text(), status: 503, retry_after: None }, "later"),
            (Error::Silent { url: text(), after: second }, "later"),
            (Error::Malformed { url: text(), reason: text() }, "operator"),
            (Error::Assertion { reason: text() }, "key"),
            (Error::Store { path: "x".into(), what: "x", source: source() }, "disk"),
            (Error::Busy { after: second }, "other process"),
            (Error::NoFolder, "AGENT_HOME"),
        ];
        for (error, word) in cases {
            let what = error.to_string();
            let hints = advice(&error.into(), &signed());
            assert!(hints.iter().any(|hint| hint.contains(word)), "{what}: {hints:?}");
        }
        let unreached = mcp_client::Error::Unreachable { url: text(), reason: text() };
        let hints = advice(&Error::Unreached(Box::new(unreached)).into(), &signed());
        assert!(hints[0].contains("network"), "{hints:?}");
    }
}
