//! Advice for errors of servers, by the kind of error.

pub(crate) mod sign_in;

use std::time::Duration;

use mcp_client::Error;
use mcp_client::config::{Endpoint, ServerEntry};
use mcp_client::redact::Redactor;

/// The installers of programs that usually start servers.
const INSTALLED_BY: &[(&[&str], &str)] = &[
    (&["npx", "npm", "node"], "install Node.js: the packages `nodejs` and `npm`"),
    (&["uvx", "uv"], "install uv: `pipx install uv`, or use your package manager"),
    (&["docker", "podman"], "install Docker or Podman, and start its service"),
    (&["python", "python3", "pipx", "pip"], "install Python 3; some systems have only `python3`"),
    (&["bunx", "bun"], "install Bun"),
    (&["deno"], "install Deno"),
];

/// The next steps; `granted` is the scope from a sign-in.
pub(crate) fn advice(error: &Error, entry: &ServerEntry, granted: Option<&str>) -> Vec<String> {
    let name = &entry.name;
    match error {
        Error::MissingExecutable { command, .. } => missing(command),
        Error::Spawn { .. } => one("check that the file is an executable program for this machine"),
        Error::Suspicious { .. } => one(
            "run the server's program directly instead of through a shell; if someone gave you \
             this configuration, ask why it needs one",
        ),
        Error::File { .. } => one("check the path, the permissions and the contents of the file"),
        Error::Password { .. } => one(format!(
            "set the third item of `client_cert` of {name} to the correct password: [cert, key, \
             password]"
        )),
        Error::NoAuthorities { .. } => vec![
            "install the CA certificates of the system (Debian: ca-certificates), or correct \
             SSL_CERT_FILE and SSL_CERT_DIR"
                .to_owned(),
            format!("or set `ssl_verify` of {name} to a PEM file"),
        ],
        Error::BadUrl { .. } | Error::BadHeader { .. } => {
            one(format!("correct `mcp_servers.{name}` in config.yaml"))
        }
        Error::Exited { .. } | Error::OutputClosed { .. } => {
            one(format!("run its command directly to see its output: {}", command_line(entry)))
        }
        Error::SignIn { challenge } => sign_in::required(challenge.as_deref(), entry),
        Error::Forbidden { challenge, .. } => {
            sign_in::forbidden(challenge.as_deref(), entry, granted)
        }
        Error::OAuth(error) => sign_in::failed(error, entry, granted),
        Error::NotMcp { .. } => vec![check_url(name)],
        Error::Preflight { .. } => vec![
            check_url(name),
            "if it is correct, skip this check with `skip_preflight: true`".to_owned(),
        ],
        Error::Http { status: 404 | 405, .. } => {
            one(format!("check `url` of {name}: nothing at that path speaks MCP"))
        }
        Error::Http { status, .. } if *status >= 500 => {
            one("the server has a problem; try again later")
        }
        Error::Redirect { .. } => {
            one(format!("if you trust the redirect, set `url` of {name} to its target"))
        }
        Error::Tls { reason, .. } => tls(reason),
        Error::Unreachable { .. } => one("check the URL, the network and the proxy variables"),
        Error::ConnectTimeout { method, .. } | Error::CallTimeout { method, .. }
            if method == "ping" =>
        {
            one("it answered before: it may hang or be busy; pings have a separate timeout")
        }
        Error::ConnectTimeout { after, .. } => slow(entry, *after),
        Error::CallTimeout { idle, .. } => slow(entry, *idle),
        Error::UnknownVersion { .. } => {
            one("update the server or this program to a version that both support")
        }
        Error::BothFailed { first, second, .. } => {
            let hints = advice(first, entry, granted);
            if hints.is_empty() { advice(second, entry, granted) } else { hints }
        }
        Error::StillRenewing { .. } => one(format!(
            "the authorization server is slow; try again, or increase `timeout` of {name}"
        )),
        Error::OutcomeUnknown { .. } => {
            one("check whether the call took effect before you repeat it")
        }
        Error::TaskLost { id, .. } => {
            vec![format!("get its result later with `agent mcp tasks result {}`", operand(id))]
        }
        _ => Vec::new(),
    }
}

fn one(hint: impl Into<String>) -> Vec<String> {
    vec![hint.into()]
}

fn check_url(name: &str) -> String {
    format!("check `url` of {name}: MCP paths often end in /mcp or /sse")
}

fn slow(entry: &ServerEntry, limit: Duration) -> Vec<String> {
    let (name, seconds) = (&entry.name, limit.as_secs_f32());
    let how = if limit == entry.connect_timeout {
        format!("increase `connect_timeout` of {name} (now {seconds} s)")
    } else if limit == entry.timeout {
        format!("increase `timeout` of {name} (now {seconds} s), or use --timeout")
    } else {
        format!("set --timeout to more than {seconds} seconds")
    };
    one(format!("if it is only slow, {how}"))
}

fn missing(command: &str) -> Vec<String> {
    if command.contains(['/', '\\']) {
        return one("correct `command`: no executable program exists at that path");
    }
    let known = INSTALLED_BY.iter().find(|(names, _)| names.contains(&command));
    let otherwise = "if it is installed, set `command` to the full path of the program";
    known.map(|(_, how)| *how).into_iter().chain([otherwise]).map(str::to_owned).collect()
}

fn tls(reason: &str) -> Vec<String> {
    let lower = reason.to_lowercase();
    if lower.contains("unknownissuer") || lower.contains("unknown issuer") {
        return one("set `ssl_verify` to the PEM file of the CA that signed its certificate");
    }
    if lower.contains("expired") {
        return one(
            "its certificate has expired: ask its operator to renew it, and check your clock",
        );
    }
    if lower.contains("notvalidforname") || lower.contains("not valid for name") {
        return one("its certificate is for another name: check the host in `url`");
    }
    one("check that the server at this address uses TLS (https)")
}

/// The command of a local server, without secrets.
pub(crate) fn command_line(entry: &ServerEntry) -> String {
    match &entry.endpoint {
        Endpoint::Stdio(stdio) => std::iter::once(&stdio.command)
            .chain(&stdio.args)
            .map(|text| quoted(&Redactor::default().redact(text.shown())))
            .collect::<Vec<_>>()
            .join(" "),
        Endpoint::Http(http) => Redactor::default().redact(http.url.shown()).into_owned(),
    }
}

pub(crate) fn test(name: &str) -> String {
    format!("agent mcp test {}", operand(name))
}

/// The name of a server as a command-line argument, also if it begins with a hyphen.
pub(crate) fn operand(name: &str) -> String {
    operand_with(name, "")
}

/// As above, with options, which have no effect after `--`.
pub(crate) fn operand_with(name: &str, options: &str) -> String {
    let words = if name.starts_with('-') {
        [options, "--", &quoted(name)].join(" ")
    } else {
        [&quoted(name), options].join(" ")
    };
    words.trim().to_owned()
}

/// A word, quoted for a shell if needed.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,~[]".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
