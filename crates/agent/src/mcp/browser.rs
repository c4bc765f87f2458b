//! Sign-in of a person at a terminal, by the page of an authorization server.
//!
//! The address is always printed to standard error. A browser is opened if there is one,
//! otherwise the steps are explained; in either case the address after the redirect can be
//! pasted.

mod opener;

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_client::host::{BoxFuture, Browser, SignInPage, SignInReply};
use mcp_client::oauth::{DeviceCode, DeviceCodeDisplay};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::json;
use task_loop::untrusted::printable;

use self::opener::{Attempt, Opener, is_remote};
use super::advice::operand_with;
use super::client_document::default_address;
use super::reporter::Reporter;
use crate::host::is_this_machine;
use crate::output::{DIM, GOOD, Output, WARNING};
use crate::prompt::line::{self, LineInput, Words};
use crate::session::Session;
use crate::table::counted;

/// Words that cancel a sign-in.
const GIVE_UP: Words = &["skip", "cancel", "s", "n", "no", "q", "quit"];
const MAX_EMPTY_LINES: u32 = 1;
const PROMPT: &str = "> ";
/// Characters that are escaped in an address, besides those beyond ASCII.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ');

/// Shows sign-in pages, and reads the pasted redirect.
#[derive(Debug)]
pub(crate) struct TerminalSignIn {
    prompt: Arc<SignInPrompt>,
    session: Session,
}

#[derive(Debug)]
struct SignInPrompt {
    output: Output,
    reporter: Arc<Reporter>,
    opener: Opener,
    here: SshHost,
    can_paste: bool,
    /// Only one sign-in uses the terminal at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SshHost {
    user: String,
    host: String,
    port: Option<String>,
    remote: bool,
}

impl TerminalSignIn {
    /// For a command that may need a sign-in; `None` without a person at a terminal.
    pub(crate) fn find(session: &Session, reporter: &Arc<Reporter>) -> Option<Self> {
        let is_there = line::is_possible() && !session.output.is_json();
        is_there.then(|| Self::new(session, reporter, true))
    }

    /// For a command whose purpose is the sign-in: it works without a terminal too, for a caller
    /// that reads the address from standard error.
    pub(crate) fn new(session: &Session, reporter: &Arc<Reporter>, may_open: bool) -> Self {
        let environment = &session.environment.all;
        // A program that reads JSON opens the page itself.
        let may_open = may_open && !session.output.is_json();
        let opener = if may_open { Opener::find(environment) } else { Opener::default() };
        let prompt = SignInPrompt {
            output: session.output.clone(),
            reporter: Arc::clone(reporter),
            opener,
            here: SshHost::find(environment),
            can_paste: line::is_possible() && !session.output.is_json(),
            turn: Arc::default(),
        };
        Self { prompt: Arc::new(prompt), session: session.clone() }
    }
}

impl Browser for TerminalSignIn {
    fn default_document(&self) -> BoxFuture<Option<String>> {
        let session = self.session.clone();
        Box::pin(async move { default_address(&session).await })
    }

    fn open_sign_in(&self, page: SignInPage) -> BoxFuture<SignInReply> {
        let prompt = Arc::clone(&self.prompt);
        Box::pin(async move {
            let _turn = prompt.turn.lock().await;
            if prompt.reporter.is_held() {
                // The terminal is in use for typed input.
                return SignInReply::Cancelled;
            }
            prompt.reporter.done_waiting();
            prompt.show(&page);
            tokio::select! {
                reply = prompt.answer() => reply,
                () = prompt.reporter.held() => SignInReply::Cancelled,
            }
        })
    }
}

impl DeviceCodeDisplay for TerminalSignIn {
    fn show(&self, code: &DeviceCode) {
        self.prompt.reporter.done_waiting();
        if self.prompt.output.is_json() {
            self.prompt.output.need(json!({ "device_sign_in": {
                "server": code.server,
                "issuer": code.issuer,
                "scope": code.scope,
                "user_code": code.user_code,
                "verification_uri": code.verification_uri,
                "verification_uri_complete": code.verification_uri_complete,
                "expires_in": code.expires_in.as_secs(),
            }}));
        } else {
            self.prompt.output.need(device_steps(code));
        }
    }
}

impl SignInPrompt {
    fn show(&self, page: &SignInPage) {
        let address = shown_address(&page.address);
        if self.output.is_json() {
            self.output.need(json!({ "sign_in": {
                "server": page.server,
                "address": address,
                "issuer": page.issuer,
                "scope": page.scope,
                "redirect_uri": page.redirect_uri,
                "port": page.port,
                "offers_device_code": page.offers_device_code,
                "problem": page.problem,
            }}));
            return;
        }
        if let Some(problem) = &page.problem {
            let problem = printable(problem);
            self.output.need(format!(
                "{WARNING}Invalid address:{WARNING:#} {problem}. Paste the whole address from the \
                 browser's address bar, or type `skip` to cancel."
            ));
            return;
        }
        let attempt = self.opener.open(&address);
        if let Attempt::Failed(why) = &attempt {
            self.output.warn(format!("cannot start a browser: {}", printable(why)));
        }
        self.output.need(steps(page, &address, attempt == Attempt::Started, self));
    }

    /// The pasted redirect. It may never come.
    async fn answer(&self) -> SignInReply {
        if !self.can_paste {
            return std::future::pending().await;
        }
        let mut empty = 0;
        loop {
            let Ok(typed) = line::read(PROMPT.to_owned(), GIVE_UP).await else {
                // The browser can still redirect to us.
                return std::future::pending().await;
            };
            let LineInput::Line(line) = typed else { return SignInReply::Cancelled };
            match line.trim() {
                "" if empty == MAX_EMPTY_LINES => return SignInReply::Cancelled,
                "" => {
                    empty += 1;
                    self.output.need("Still waiting. Press Enter again to cancel.");
                }
                word if GIVE_UP.contains(&word.to_lowercase().as_str()) => {
                    return SignInReply::Cancelled;
                }
                pasted => return SignInReply::Pasted(pasted.to_owned()),
            }
        }
    }
}

/// The address for clicking and copying: complete, and without control characters.
fn shown_address(address: &str) -> String {
    utf8_percent_encode(address, ESCAPED).to_string()
}

/// The text before a sign-in, whose page was opened in the browser or not.
fn steps(page: &SignInPage, address: &str, is_opened: bool, prompt: &SignInPrompt) -> String {
    let SignInPage { server, issuer, scope, redirect_uri, port, .. } = page;
    let mut text = heading(server, issuer, scope.as_deref());
    text.push_str(if is_opened {
        "This page opens in your browser. If it does not, open it yourself:\n"
    } else {
        "Open this page in a browser:\n"
    });
    // On a separate line, so that it can be selected as a whole.
    text.push_str(&format!("\n{address}\n\n"));
    let is_elsewhere = !is_opened || prompt.here.remote;
    if is_elsewhere && page.offers_device_code {
        text.push_str(&format!(
            "Without a browser on this machine, a code is easier: press Ctrl-C and run\n\n  agent \
             mcp login {}\n\n",
            operand_with(server, "--device")
        ));
    }
    if is_elsewhere && is_loopback(redirect_uri) {
        text.push_str(&format!(
            "If the browser runs on another machine, run this there first, so that it can reach \
             this one:\n\n  {}\n\n",
            prompt.here.tunnel(*port)
        ));
    }
    if prompt.can_paste {
        text.push_str(if is_opened {
            "If the browser ends on a page that does not load, paste its address here.\n"
        } else {
            "Or sign in without it: when the browser ends on a page that does not load, paste its \
             address here.\n"
        });
        text.push_str(&format!("{DIM}Waiting. Type `skip` or press Ctrl-C to cancel.{DIM:#}"));
    } else {
        text.push_str(&format!("{DIM}Waiting. Press Ctrl-C to cancel.{DIM:#}"));
    }
    text
}

fn heading(server: &str, issuer: &str, scope: Option<&str>) -> String {
    let (server, issuer) = (printable(server), printable(issuer));
    let scope = scope.map(|scope| format!("  scope  {}\n", printable(scope))).unwrap_or_default();
    format!("{GOOD}Signing in to {server}{GOOD:#}\n  at     {issuer}\n{scope}")
}

fn device_steps(code: &DeviceCode) -> String {
    let mut text = heading(&code.server, &code.issuer, code.scope.as_deref());
    text.push_str(&format!(
        "Open this page in a browser on any device:\n\n{}\n\nand enter this code:\n\n{}\n\n",
        shown_address(&code.verification_uri),
        printable(&code.user_code),
    ));
    if let Some(page) = &code.verification_uri_complete {
        text.push_str(&format!("Or open the page with the code:\n\n{}\n\n", shown_address(page)));
    }
    let minutes = code.expires_in.as_secs().div_ceil(60);
    text + &format!(
        "{DIM}Waiting for up to {}. Press Ctrl-C to cancel.{DIM:#}",
        counted(usize::try_from(minutes).unwrap_or(usize::MAX), "minute")
    )
}

/// Whether the browser is redirected to its own machine.
fn is_loopback(redirect_uri: &str) -> bool {
    redirect_uri.starts_with("http://") && is_this_machine(redirect_uri)
}

impl SshHost {
    fn find(environment: &BTreeMap<String, String>) -> Self {
        let word = |text: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-@\\".contains(c);
            (!text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-'))
                .then(|| text.to_owned())
        };
        let variable = |name: &str| environment.get(name).and_then(|value| word(value));
        // The address and port of this machine in the SSH connection.
        let connection = environment.get("SSH_CONNECTION").map(String::as_str).unwrap_or_default();
        let mut reached = connection.split_whitespace().skip(2);
        let (host, port) = (reached.next().and_then(word), reached.next().and_then(word));
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            user: variable("USER")
                .or_else(|| variable("LOGNAME"))
                .unwrap_or_else(|| "<user>".to_owned()),
            host: host.or_else(|| word(&machine)).unwrap_or_else(|| "<this machine>".to_owned()),
            port: port.filter(|port| port != "22"),
            remote: is_remote(environment),
        }
    }

    /// The command that forwards a port to the browser's machine.
    fn tunnel(&self, port: u16) -> String {
        let Self { user, host, port: ssh, .. } = self;
        let ssh = ssh.as_ref().map(|ssh| format!("-p {ssh} ")).unwrap_or_default();
        format!("ssh -N -L {port}:127.0.0.1:{port} {ssh}{user}@{host}")
    }
}

#[cfg(test)]
mod tests;
