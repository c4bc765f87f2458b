//! The client documents that sign-ins would use, fetched and held against the four rules.

use mcp_client::config::{Auth, Endpoint, HttpEndpoint, ServerEntry, Verify};
use mcp_client::oauth::client_document::{self, FetchedDocument, RuleViolation};

use crate::diagnostic::Diagnostic;
use crate::finding::{Finding, Findings};
use crate::mcp::McpServers;
use crate::mcp::client_document::{address, built_in_fault, in_its_place};
use crate::session::Session;
use crate::table::counted;

/// Findings that need no request.
pub(super) fn unused(entries: &[&ServerEntry], findings: &mut Findings) {
    if let Some((built_in, why)) = built_in_fault() {
        let what = format!("the built-in client document `{built_in}` is not used: {why}");
        let fix = "set `mcp.client_metadata_url` in config.yaml, or report this to the distributor \
                   of the program";
        findings.add(Finding::warning(what).hint(fix));
    }
    for entry in entries {
        if let Endpoint::Http(http) = &entry.endpoint
            && let Auth::OAuth(oauth) = &http.auth
            && oauth.client_metadata_url.is_some()
            && let Some(key) = in_its_place(oauth)
        {
            let what =
                format!("`oauth.client_metadata_url` is ignored, because `oauth.{key}` is set");
            findings.add(Finding::advice(what).of(&*entry.name).hint("remove one of them"));
        }
    }
}

pub(super) fn check(
    fleet: &McpServers,
    entries: &[&ServerEntry],
    session: &Session,
    findings: &mut Findings,
) -> Result<(), Diagnostic> {
    let used: Vec<_> = entries.iter().filter_map(|entry| document_of(entry, fleet)).collect();
    if used.is_empty() {
        return Ok(());
    }
    let spinner = session.output.spinner();
    spinner.set_message(format!("fetching {}", counted(used.len(), "client document")));
    let done = fleet.run(Vec::new(), async |_| {
        // Most servers share one document, and what judges its certificate.
        let mut known: Vec<(&str, &Verify, Result<FetchedDocument, String>)> = Vec::new();
        for DocumentUse { entry, http, url } in &used {
            let is_it = |known: &&(&str, &Verify, _)| known.0 == *url && *known.1 == http.verify;
            if !known.iter().any(|known| is_it(&known)) {
                let answer = client_document::fetch(http, &fleet.host, url).await;
                known.push((url, &http.verify, answer.map_err(|error| error.to_string())));
            }
            let answers = known.iter().find(is_it).map(|(_, _, answer)| answer);
            for finding in answers.into_iter().flat_map(|answer| judged(url, answer)) {
                findings.add(finding.of(&*entry.name));
            }
        }
        Ok(())
    });
    spinner.finish_and_clear();
    done
}

struct DocumentUse<'a> {
    entry: &'a ServerEntry,
    http: &'a HttpEndpoint,
    url: &'a str,
}

fn document_of<'a>(entry: &'a ServerEntry, fleet: &'a McpServers) -> Option<DocumentUse<'a>> {
    let Endpoint::Http(http) = &entry.endpoint else { return None };
    let Auth::OAuth(oauth) = &http.auth else { return None };
    address(oauth, &fleet.servers.parsed).map(|url| DocumentUse { entry, http, url })
}

fn judged(url: &str, answer: &Result<FetchedDocument, String>) -> Vec<Finding> {
    const OTHERWISE: &str = "or set `oauth.cimd: false` to sign in without a document";
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let what = format!("cannot fetch its client document {url}: {error}");
            let fix = "serve it there publicly";
            return vec![Finding::error(what).hint(fix).hint(OTHERWISE)];
        }
    };
    let broken = client_document::check(url, &answer.view());
    if broken.is_empty() {
        let what = format!("its client document {url} follows all four rules");
        return vec![Finding::good(what)];
    }
    let findings = broken.iter().map(|broken| {
        let what = format!("its client document {url} breaks rule {}: {broken}", broken.rule());
        Finding::error(what).hint(fix(url, broken)).hint(OTHERWISE)
    });
    findings.collect()
}

fn fix(url: &str, broken: &RuleViolation) -> String {
    match broken {
        RuleViolation::Address(_) => {
            format!("serve it at another URL: {}", client_document::RULES[0])
        }
        RuleViolation::Status(_) => format!("serve the document at {url} with status 200"),
        RuleViolation::Redirected { .. } => {
            "serve it there without a redirect, or use the URL it redirects to".to_owned()
        }
        RuleViolation::ContentType { .. } => {
            "make the web server send `Content-Type: application/json`".to_owned()
        }
        RuleViolation::NotJson
        | RuleViolation::MissingRedirects { .. }
        | RuleViolation::ClientId { .. } => {
            format!("print a valid one with `agent mcp client-document --url {url}`")
        }
    }
}
