//! Checks without a connection: the files, the entries, the programs.

use std::fs;
use std::path::Path;

use mcp_client::config::{
    Configured, Endpoint, HttpEndpoint, HttpTransport, Scope, ServerEntry, Trust, Verify, danger,
    env_file, parse,
};
use mcp_client::oauth::SignInStatus;
use mcp_client::transport::environment;

use super::super::status::{State, now};
use super::super::test::named_files;
use super::Doctor;
use crate::config;
use crate::diagnostic::Result;
use crate::finding::{Finding, Severity};
use crate::host::is_this_machine;
use crate::mcp::advice::sign_in::{login, logout};
use crate::mcp::advice::{advice, operand};
use crate::mcp::is_alone;

impl Doctor<'_> {
    /// All problems of the configuration, or those of one server and of the whole file.
    pub(super) fn configuration(&mut self, only: Option<&str>) {
        let servers = &self.fleet.servers;
        for problem in &servers.parsed.problems {
            let about = problem.section.as_deref();
            if about.is_some() && only.is_some() && about != only {
                continue;
            }
            let what = match &problem.key {
                Some(key) => format!("{key}: {}", problem.message),
                None => problem.message.clone(),
            };
            let hint = if problem.message.contains("is not set") {
                let file = servers.path.with_file_name(".env");
                Some(format!("set it in {}, or export it", file.display()))
            } else {
                problem.hint.clone()
            };
            let severity = if problem.is_error() { Severity::Error } else { Severity::Warning };
            self.findings.add(Finding {
                subject: about.map(str::to_owned),
                place: Some(location(&servers.path, problem.line)),
                hints: hint.into_iter().collect(),
                ..Finding::new(severity, what)
            });
        }
    }

    pub(super) fn files(&mut self) -> Result {
        let findings = &mut self.findings;
        let home = self.session.home()?;
        let config = home.config();
        let fix = format!("chmod 600 {}, or move the secrets to `.env`", config.display());
        let readable = "it contains secrets, and other users can read it";
        if let Some(finding) = exposed(&config, readable, fix)
            && let Some(text) = config::read(&config)?
        {
            // Parsed without variables, so that only literal secrets are found.
            let parsed = parse(&text, &Scope::default());
            let mut secrets = parsed.servers.iter().flat_map(|server| &server.secrets);
            if secrets.any(|secret| !secret.value().contains("${")) {
                findings.add(finding);
            }
        }
        let secrets = home.env_file();
        if let Some(text) = config::read_lossy(&secrets)? {
            for problem in env_file::parse(&text).1 {
                findings
                    .add(Finding::warning(problem.message).at(location(&secrets, problem.line)));
            }
            let fix = format!("chmod 600 {}", secrets.display());
            findings.extend(exposed(&secrets, "other users can read your secrets", fix));
        }
        let tokens = home.mcp_tokens();
        let fix = format!("chmod 700 {}", tokens.display());
        findings.extend(exposed(&tokens, "other users can access the token folder", fix));
        let logs = home.logs();
        let standing = logs.ancestors().find(|folder| folder.exists());
        if let Some(folder) = standing
            && let Err(error) = tempfile::tempfile_in(folder)
        {
            findings.add(
                Finding::warning(format!("the standard error of servers is not logged: {error}"))
                    .at(logs.display().to_string())
                    .hint("make the folder writable, and check the free disk space"),
            );
        }
        Ok(())
    }

    pub(super) fn server(&mut self, configured: &Configured) {
        let (entry, fleet) = (&configured.entry, self.fleet);
        let at = location(&fleet.servers.path, configured.line);
        let mut add =
            |finding: Finding| self.findings.add(finding.of(&*entry.name).at(at.as_str()));
        if !entry.enabled {
            add(Finding::advice("disabled")
                .hint(format!("enable it with `agent mcp enable {}`", operand(&entry.name))));
        }
        if entry.trust == Trust::Untrusted {
            add(Finding::advice(
                "untrusted: calls that may change something need approval, and are rejected without \
                 a terminal",
            ));
        }
        match &entry.endpoint {
            Endpoint::Stdio(stdio) => {
                let scope = &fleet.servers.scope;
                match environment::find_command(stdio, &scope.process, scope.home.as_deref()) {
                    Ok(path) => {
                        let command = stdio.command.shown();
                        add(Finding::good(format!("`{command}` is {}", path.display())));
                    }
                    Err(error) => {
                        let hints = advice(&error, entry, None);
                        add(Finding { hints, ..Finding::error(error.to_string()) });
                    }
                }
                if let Some(suspicion) = danger::suspicion(stdio) {
                    add(Finding::error(format!("rejected: {suspicion}"))
                        .hint("run the program directly, without a shell"));
                }
                if let Some(folder) =
                    stdio.cwd.as_ref().filter(|cwd| !Path::new(cwd.value()).is_dir())
                {
                    add(Finding::error(format!("`cwd` {} is not a folder", folder.shown()))
                        .hint("correct the path, or create the folder"));
                }
            }
            Endpoint::Http(http) => remote(http, &mut add),
        }
        if let Some(standing) = fleet.standing(entry) {
            self.signed_in(entry, &standing);
        }
    }

    fn signed_in(&mut self, entry: &ServerEntry, standing: &SignInStatus) {
        let name = &entry.name;
        let file = standing.file.display();
        let mut add = |finding: Finding| self.findings.add(finding.of(name).at(file.to_string()));
        let issuer = standing.granted.as_ref().map(|granted| &*granted.issuer).unwrap_or_default();
        add(match State::of(entry, standing, now(self.session)) {
            State::SignedIn => Finding::good(format!("signed in at {issuer}")),
            State::Alone => Finding::good("signs in automatically"),
            State::Expired => {
                let what = format!("the sign-in at {issuer} has expired and cannot be renewed");
                Finding::warning(what).hint(login(name))
            }
            State::Unreadable => {
                let reason = standing.unreadable.as_deref().unwrap_or_default();
                let fix = match standing.in_keychain {
                    true => "unlock the keychain".to_owned(),
                    false if is_alone(entry) => logout(name),
                    false => login(name),
                };
                Finding::error(format!("its token file {reason}")).hint(fix)
            }
            State::SignedOut => Finding::error("not signed in").hint(login(name)),
        });
        let fix = format!(
            "chmod 600 {file}; if other people use this machine, also run {}",
            logout(name)
        );
        exposed(&standing.file, "other users can read your tokens", fix)
            .into_iter()
            .for_each(&mut add);
        if standing.document_refused {
            add(Finding::advice("its authorization server rejected our client document")
                .hint(format!("try it again with {}", login(name))));
        }
    }
}

fn location(path: &Path, line: usize) -> String {
    if line > 0 { format!("{}:{line}", path.display()) } else { path.display().to_string() }
}

/// The finding that others can read a file, if its mode allows it.
fn exposed(path: &Path, what: &str, fix: String) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let finding = Finding::warning(format!("{what} (mode {mode:o})"));
    (mode & 0o077 != 0).then(|| finding.at(path.display().to_string()).hint(fix))
}

fn remote(http: &HttpEndpoint, add: &mut impl FnMut(Finding)) {
    for (what, path) in named_files(http) {
        if let Err(error) = fs::read(path.value()) {
            add(Finding::error(format!("cannot read {what} {}: {error}", path.shown()))
                .hint("check the path, the permissions and the contents of the file"));
        } else if what == "the client key" {
            let fix = format!("chmod 600 {}", path.shown());
            let readable = "other users can read the client key";
            exposed(Path::new(path.value()), readable, fix).into_iter().for_each(&mut *add);
        }
    }
    if http.verify == Verify::Off {
        add(Finding::warning(
            "`ssl_verify: false`: anyone on the network path can read and change the traffic",
        )
        .hint("set `ssl_verify` to the PEM file of the CA that signed its certificate"));
    }
    if http.transport == HttpTransport::Sse {
        add(Finding::advice("it uses the older SSE transport")
            .hint("ask its operator for Streamable HTTP, then remove `transport: sse`"));
    }
    let plain = http.url.value().starts_with("http://") && !is_this_machine(http.url.value());
    if plain && !http.headers.is_empty() {
        add(Finding::warning("its headers are sent unencrypted (http)").hint("use an https URL"));
    }
}
