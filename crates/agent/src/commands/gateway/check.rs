//! `agent gateway check`: checks everything that the service needs.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use document_parser::Pool;
use futures_util::future::join_all;
use gateway::config::{Config, Database, KeySecret, Kind, Operation, Provider, SearchProvider};
use gateway::{key_secret, probe, search};
use gateway_store::{SchemaState, Store};
use ledger::MemberId;
use serde_json::{Value, json};
use task_loop::untrusted::{escaped, printable};

use super::file::problem_lines;
use super::migrate::version;
use super::operator_store::{Context, block_on};
use super::provider::status_hint;
use crate::commands::parse_worker;
use crate::diagnostic::{Diagnostic, Result};
use crate::finding::{Finding, Findings, Severity};
use crate::output::DIM;
use crate::table::counted;

/// Timeout for an answer of a process that listens at our address.
const MAX_WAIT: Duration = Duration::from_secs(1);

const SEARCHED: &str = "weather";
/// Check the configuration, database and providers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Changes nothing; the service can keep running.

Exit codes: 0 no problem found, 1 problems found, 3 the configuration file cannot be read.

Examples:
  agent gateway check
  agent gateway check --offline --json")]
pub(crate) struct Args {
    /// Skip checks that contact providers
    #[arg(long)]
    offline: bool,
}

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let file = context.location.read(context.session)?;
    let good = Finding::good(file.path.display().to_string()).of("configuration");
    let mut findings = Findings::default();
    let errors = problem_lines(&file, settings::Problem::is_error).map(Finding::error);
    let warnings = problem_lines(&file, |problem| !problem.is_error()).map(Finding::warning);
    findings.extend(errors.chain(warnings).map(|finding| finding.of("configuration")));
    if let Some(config) = file.reading.config {
        findings.all.insert(0, good);
        findings.extend(block_on(async { Ok(of_config(&config, args.offline).await) })?);
    }
    print(&findings, context)
}

async fn of_config(config: &Config, offline: bool) -> Vec<Finding> {
    let (finding, store) = match open(config).await {
        Ok((finding, store)) => (finding, Some(store)),
        Err(finding) => (finding, None),
    };
    let mut findings = vec![finding.of("database")];
    findings.push(secret(config, store.as_ref()).await.of("key secret"));
    if let Some(store) = &store {
        store.close().await;
    }
    findings.push(listen(config.listen).of("listen"));
    findings.push(parser(config).await.of("parser"));
    if config.providers.is_empty() {
        let text = "none configured, so no models are available";
        findings.push(Finding::warning(text).of("providers"));
    }
    if offline {
        return findings;
    }
    let answers = join_all(config.providers.iter().map(provider)).await;
    let mut found = Vec::new();
    for (provider, (finding, models)) in config.providers.iter().zip(answers) {
        findings.push(finding);
        found.push((provider, models));
    }
    findings.extend(prices(config, &found));
    findings.extend(join_all(config.search.providers.iter().map(search_provider)).await);
    findings
}

async fn open(config: &Config) -> Result<(Finding, Store), Finding> {
    let what = match &config.database {
        Database::Sqlite { path, .. } => path.display().to_string(),
        Database::Postgres { .. } => "PostgreSQL".to_owned(),
    };
    let (place, options) = gateway::database_location(config);
    let state = Store::schema(&place, &options).await.map_err(|error| failed(&what, &error))?;
    let number = version(state);
    match state {
        SchemaState::Current(_) => {
            let store = Store::open(&place, &options).await;
            let store = store.map_err(|error| failed(&what, &error))?;
            Ok((Finding::good(format!("{what}, schema version {number}")), store))
        }
        SchemaState::Empty | SchemaState::Old(_) => {
            let text = format!("{what} must be migrated: its schema version is {number}");
            Err(Finding::error(text).hint("run `agent gateway migrate`"))
        }
        SchemaState::Unknown(_) => {
            let text =
                format!("{what} has schema version {number}, which this program does not support");
            Err(Finding::error(text))
        }
    }
}

fn failed(what: &str, error: &dyn Error) -> Finding {
    Finding::error(Diagnostic::failed(what).because(error).line())
}

/// Sends a query to a search provider. This may count against its quota.
async fn search_provider(provider: &SearchProvider) -> Finding {
    let upstream = match provider {
        SearchProvider::Remote { upstream, .. } => upstream,
        SearchProvider::Index(index) => {
            let (what, folder) = (format!("index {}", index.name), index.folder.display());
            return if index.folder.is_dir() {
                Finding::good(format!("{folder} exists; the service maintains the index")).of(what)
            } else {
                Finding::warning(format!("{folder} is not a folder")).of(what)
            };
        }
    };
    let what = format!("search provider {}", upstream.name);
    match search::probe(provider, SEARCHED).await {
        Ok(hits) if hits.is_empty() => {
            Finding::warning(format!("no results for `{SEARCHED}`")).of(what)
        }
        Ok(hits) => Finding::good(counted(hits.len(), "result")).of(what),
        Err(problem) => Finding::from(Diagnostic::from(problem)).of(what),
    }
}

/// The secret of keys; a missing file is not created here.
async fn secret(config: &Config, store: Option<&Store>) -> Finding {
    if let KeySecret::File(path) = &config.key_secret
        && !path.exists()
    {
        let has_members = match store {
            Some(store) => store.members(MemberId(0), 1).await.is_ok_and(|list| !list.is_empty()),
            None => false,
        };
        let path = path.display();
        return if has_members {
            Finding::error(format!("{path} is missing, but the database has members"))
                .hint("restore the file; without it, no key works")
        } else {
            Finding::good(format!("{path} will be created"))
        };
    }
    let (hasher, store) = match (key_secret::load(&config.key_secret), store) {
        (Ok(hasher), Some(store)) => (hasher, store),
        (Ok(_), None) => return Finding::good("readable"),
        (Err(problem), _) => return Finding::from(Diagnostic::from(problem)),
    };
    match key_secret::check(&hasher, store).await {
        Ok(()) => Finding::good("matches the keys in the database"),
        Err(problem) => Finding::from(Diagnostic::from(problem)),
    }
}

async fn parser(config: &Config) -> Finding {
    let pool = Pool::new(parse_worker::program(), gateway::parser_limits(config), 1);
    match pool.confinement().await {
        Ok(confinement) if confinement.is_complete() => {
            Finding::good(format!("confined: {confinement}"))
        }
        Ok(confinement) => Finding::warning(format!("only partly confined: {confinement}"))
            .hint("use a Linux kernel with Landlock and seccomp, and allow their system calls"),
        Err(error) => Finding::error(error.to_string())
            .hint("allow the service to start its own program as a child process"),
    }
}

/// Whether the address is free, or in use by the service itself.
fn listen(address: SocketAddr) -> Finding {
    match TcpListener::bind(address) {
        Ok(_) => Finding::good(format!("{address} is free")),
        Err(_) if is_ours(address) => Finding::good(format!("the service is running at {address}")),
        Err(error) => Finding::error(format!("{address}: {error}"))
            .hint("another process may use the port; set `listen` to another address"),
    }
}

fn is_ours(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, MAX_WAIT)?;
        stream.set_read_timeout(Some(MAX_WAIT))?;
        stream.set_write_timeout(Some(MAX_WAIT))?;
        let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.take(4096).read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains("x-request-id: req_") && answer.ends_with("ok\n"))
}

async fn provider(provider: &Provider) -> (Finding, Vec<String>) {
    let what = format!("provider {}", provider.name);
    let asked = match probe::models(provider).await {
        Ok(asked) => asked,
        Err(problem) => return (Finding::from(Diagnostic::from(problem)).of(what), Vec::new()),
    };
    let ms = asked.took.as_millis();
    if !(200..300).contains(&asked.status) {
        let said = asked.message.map(|message| format!(": {message}")).unwrap_or_default();
        let text = format!("status {} after {ms} ms{said}", asked.status);
        let mut finding = Finding::error(text).of(what);
        finding.hints.extend(status_hint(asked.status).map(str::to_owned));
        return (finding, Vec::new());
    }
    let models = asked.found.unwrap_or_default();
    let text = format!("{} in {ms} ms", counted(models.len(), "model"));
    let is_listed = |name: &String| {
        // A voice may be the language alone: `en` is `en-gb` to espeak-ng.
        let is_language =
            |voice: &String| voice.strip_prefix(name).is_some_and(|it| it.starts_with('-'));
        models.contains(name) || (provider.kind == Kind::Espeak && models.iter().any(is_language))
    };
    let missing = provider.models.iter().filter(|known| !is_listed(&known.upstream_name));
    let missing: Vec<&str> = missing.map(|known| known.upstream_name.as_str()).collect();
    let finding = if missing.is_empty() || models.is_empty() {
        Finding::good(text)
    } else {
        Finding::warning(format!("{text}; not listed: {}", missing.join(", ")))
    };
    (finding.of(what), models)
}

fn prices(config: &Config, found: &[(&Provider, Vec<String>)]) -> Vec<Finding> {
    let mut ids: Vec<String> = Vec::new();
    for (provider, models) in found {
        let named = provider.models.iter().map(|model| &model.id);
        let found = models.iter().filter(|_| provider.discover);
        ids.extend(named.chain(found).map(|id| format!("{}/{id}", provider.name)));
    }
    ids.extend(config.aliases.iter().map(|alias| alias.name.clone()));
    ids.sort();
    ids.dedup();
    let mut findings: Vec<Finding> = Vec::new();
    let price = |id: &String| config.price_micros(Operation::Chat, id);
    let mut prices: Vec<i64> = ids.iter().map(price).collect();
    prices.sort_unstable();
    if let (Some(least), Some(most)) = (prices.first(), prices.last()) {
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let count = counted(ids.len(), "model");
        let aliases = if config.aliases.is_empty() { "" } else { ", aliases included" };
        let text = format!("{count}{aliases}: {range} micros per chat request");
        findings.push(Finding::good(text).of("prices"));
    }
    // Names only: models that match a glob may appear later.
    for (pattern, _) in config.prices.models().iter().filter(|(pattern, _)| !pattern.is_glob()) {
        if !ids.iter().any(|id| id == pattern.as_str()) {
            let text = format!("`{}` has a price, but no such model exists", pattern.as_str());
            findings.push(Finding::warning(text).of("prices"));
        }
    }
    findings
}

fn print(findings: &Findings, context: Context<'_>) -> Result {
    let (wrong, odd) = (findings.count(Severity::Error), findings.count(Severity::Warning));
    let list: Vec<Value> = findings.all.iter().map(finding_json).collect();
    context
        .output
        .print(&json!({ "findings": list, "wrong": wrong, "odd": odd }), table(findings))?;
    if wrong == 0 { Ok(()) } else { Err(Diagnostic::already_reported()) }
}

fn finding_json(finding: &Finding) -> Value {
    let verdict = match finding.severity {
        Severity::Good | Severity::Advice => "good",
        Severity::Warning => "odd",
        Severity::Error => "wrong",
    };
    let hint = finding.hints.first();
    json!({ "what": finding.subject, "verdict": verdict, "text": finding.what, "hint": hint })
}

fn table(findings: &Findings) -> String {
    let subjects = findings.all.iter().map(Finding::subject);
    let width = subjects.map(|subject| subject.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &findings.all {
        let mark = match finding.severity {
            Severity::Good | Severity::Advice => "ok   ",
            Severity::Warning => "warn ",
            Severity::Error => "error",
        };
        let style = finding.severity.style();
        let subject = printable(finding.subject());
        // A path is not truncated.
        let what = escaped(&finding.what);
        text += &format!("{style}{mark}{style:#}  {subject:<width$}  {what}\n");
        for hint in &finding.hints {
            text += &format!("       {:<width$}  {DIM}{hint}{DIM:#}\n", "");
        }
    }
    text
}
