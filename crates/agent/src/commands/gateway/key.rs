//! `agent gateway key`: what members show to be let in.

mod options;
pub(crate) mod secret;

use clap::Subcommand;
use gateway::operator::{Issued, KeyOrder};
use gateway::rfc3339;
use gateway_store::{KeyChange, KeyRecord, Scope};
use ledger::{MemberId, Micros};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use self::options::KeyOptions;
use super::amount::in_credits;
use super::budget::{self, budget_json};
use super::file::Location;
use super::moment::{now, period, shown};
use super::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;
use crate::table::Table;
pub(super) use options::optional;

/// Create, limit, rotate and revoke API keys
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
KEY is the public part shown by `key list`, or the whole key. A running service applies changes \
within two seconds.

Examples:
  agent gateway key create alice --name laptop
  agent gateway key list alice
  agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h"
)]
pub(crate) enum Command {
    Create(Create),
    List(List),
    /// Show the permissions, limits and spend of a key
    #[command(after_help = "Examples:\n  agent gateway key show 3fG7aK0pQx2Z")]
    Show(KeyArgs),
    Change(Change),
    Rotate(Rotate),
    /// Revoke a key permanently
    #[command(after_help = "\
This cannot be undone. A running service rejects the key within two seconds.

Examples:
  agent gateway key revoke 3fG7aK0pQx2Z")]
    Revoke(KeyArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// Public part of the key, or the whole key
    key: String,
}

pub(crate) fn run(
    command: Command,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    match command {
        Command::Create(args) => create(&args, location, session),
        Command::List(args) => list(&args, location, session),
        Command::Show(args) => show(&args, location, session),
        Command::Change(args) => change(&args, location, session),
        Command::Rotate(args) => rotate(&args, location, session),
        Command::Revoke(args) => revoke(&args, location, session),
    }
}

/// `active`, `expired`, `revoked` or `member blocked`.
fn state(record: &KeyRecord, session: &Session) -> &'static str {
    let key = &record.key;
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|at| at <= now(session)) {
        "expired"
    } else if record.member_blocked {
        "member blocked"
    } else {
        "active"
    }
}

fn scopes(record: &KeyRecord) -> String {
    if Scope::ALL.iter().all(|scope| record.key.scopes.contains(scope)) {
        return "all".to_owned();
    }
    record.key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(",")
}

/// A key for programs; never its secret.
pub(super) fn key_json(record: &KeyRecord, session: &Session) -> Value {
    let (key, limits) = (&record.key, &record.limits);
    json!({
        "id": key.id,
        "name": key.name,
        "member": key.member.to_string(),
        "member_name": record.member_name,
        "state": state(record, session),
        "scopes": key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>(),
        "models": key.models,
        "created_at": rfc3339(key.created_at),
        "expires_at": key.expires_at.map(rfc3339),
        "revoked_at": key.revoked_at.map(rfc3339),
        "spend_limit_micros": limits.spend.map(Micros::get),
        "requests_per_minute": limits.requests_per_minute,
        "concurrency": limits.concurrency,
        "budget": budget_json(limits.budget),
    })
}

pub(super) fn key_table(records: &[KeyRecord], session: &Session) -> String {
    let mut table = Table::new([
        "key",
        "name",
        "state",
        "expires",
        "spend limit",
        "budget",
        "rpm",
        "concurrency",
        "scopes",
        "models",
    ])
    .align_right(&["spend limit", "budget", "rpm", "concurrency"]);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for record in records {
        let (key, limits) = (&record.key, &record.limits);
        table.row([
            key.id.clone(),
            key.name.clone(),
            state(record, session).to_owned(),
            or_dash(key.expires_at.map(shown)),
            or_dash(limits.spend.map(|spend| spend.to_string())),
            or_dash(limits.budget.map(budget::typed)),
            or_dash(limits.requests_per_minute.map(|limit| limit.to_string())),
            or_dash(limits.concurrency.map(|limit| limit.to_string())),
            scopes(record),
            key.models.as_ref().map_or_else(|| "all".to_owned(), |models| models.join(",")),
        ]);
    }
    table.text()
}

const MAX_LISTED: usize = 10_000;
const PAGE: u32 = 1000;

/// List the keys of one member or of all
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent gateway key list
  agent gateway key list alice --json")]
pub(crate) struct List {
    /// Member name or id, for example `mem_3`
    member: Option<String>,
}

pub(crate) fn list(args: &List, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let records = OperatorStore::with(location, session, async |books| match &args.member {
        Some(word) => {
            let member = books.member(word).await?;
            Ok(books.store.keys(member.id).await?)
        }
        None => all(books).await,
    })?;
    if session.output.is_json() {
        let list = records.iter().map(|record| key_json(record, session));
        return session.output.json(&json!({ "keys": list.collect::<Vec<Value>>() }));
    }
    if records.is_empty() {
        session.output.note("No keys. Create one with `agent gateway key create`.");
        return Ok(());
    }
    if args.member.is_some() {
        return session.output.text(key_table(&records, session));
    }
    let mut table = Table::new(["key", "member", "name", "state"]);
    for record in &records {
        let (key, state) = (&record.key, state(record, session));
        let member = record.member_name.clone();
        table.row([key.id.clone(), member, key.name.clone(), state.to_owned()]);
    }
    session.output.text(table.text())?;
    if records.len() >= MAX_LISTED {
        session.output.warn(format!("only the first {MAX_LISTED} keys are shown"));
    }
    Ok(())
}

async fn all(books: &OperatorStore) -> Result<Vec<KeyRecord>, Diagnostic> {
    let (mut records, mut after) = (Vec::new(), MemberId(0));
    while records.len() < MAX_LISTED {
        let members = books.store.members(after, PAGE).await?;
        let Some(last) = members.last() else { break };
        after = last.id;
        for member in &members {
            records.extend(books.store.keys(member.id).await?);
        }
    }
    records.truncate(MAX_LISTED);
    Ok(records)
}

pub(crate) fn show(
    args: &KeyArgs,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let (record, lineage, windows) = OperatorStore::with(location, session, async |books| {
        let record = books.key(&args.key).await?;
        let lineage = books.store.lineage(record.key.lineage).await;
        let windows = budget::windows(&books.config, session);
        Ok((record, lineage?, windows))
    })?;
    let status = lineage.as_ref().and_then(|found| found.budget_status(&windows));
    let (spent, held, running) = lineage
        .map_or((Micros::ZERO, Micros::ZERO, 0), |found| (found.spent, found.held, found.running));
    if session.output.is_json() {
        let mut value = key_json(&record, session);
        value["spent_micros"] = spent.get().into();
        value["held_micros"] = held.get().into();
        value["running"] = running.into();
        value["budget"] = budget::status_json(status.as_ref());
        return session.output.json(&value);
    }
    let (key, limits) = (&record.key, &record.limits);
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "no limit".to_owned());
    let models = key.models.as_ref().map_or_else(|| "all".to_owned(), |models| models.join(", "));
    let lines = [
        ("member", format!("{} ({})", record.member_name, key.member)),
        ("since", shown(key.created_at)),
        ("expires", key.expires_at.map_or_else(|| "never".to_owned(), shown)),
        ("scopes", scopes(&record)),
        ("models", models),
        ("spent", in_credits(spent)),
        ("spend limit", or_none(limits.spend.map(in_credits))),
        ("budget", budget::status_text(status.as_ref())),
        ("per minute", or_none(limits.requests_per_minute.map(|limit| limit.to_string()))),
        ("concurrency", or_none(limits.concurrency.map(|limit| limit.to_string()))),
        ("running", running.to_string()),
    ];
    let mut text = format!("{} `{}`: {}\n", key.id, printable(&key.name), state(&record, session));
    for (label, value) in lines {
        text.push_str(&format!("  {label:<11}  {}\n", printable(&value)));
    }
    session.output.text(text)
}

/// Change the limits and permissions of a key
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Omitted settings stay unchanged. Rotated keys share their limits.

Examples:
  agent gateway key change 3fG7aK0pQx2Z --rpm 120
  agent gateway key change 3fG7aK0pQx2Z --expires never --spend-limit none")]
pub(crate) struct Change {
    /// Public part of the key, or the whole key
    key: String,
    /// New name
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    given: KeyOptions,
}

pub(crate) fn change(
    args: &Change,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    if args.name.is_none() && args.given.is_empty() {
        return Err(Diagnostic::usage("nothing to change")
            .hint("see `agent gateway key change --help` for the options"));
    }
    let scopes = args.given.scopes()?;
    let expires_at = args.given.expires(session)?;
    let record = OperatorStore::with(location, session, async |books| {
        let record = books.key(&args.key).await?;
        let change = KeyChange {
            name: args.name.clone(),
            scopes,
            models: args.given.models(&books.config, session),
            expires_at,
            limits: args.given.limits()?,
        };
        Ok(books.operator().change_key(&record.key.id, change).await?)
    })?;
    if session.output.is_json() {
        return session.output.json(&key_json(&record, session));
    }
    session.output.note(format!("{GOOD}Changed{GOOD:#} key {}.", record.key.id));
    session.output.text(key_table(&[record], session))
}

pub(crate) fn revoke(
    args: &KeyArgs,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let record = OperatorStore::with(location, session, async |books| {
        let id = books.key(&args.key).await?.key.id;
        Ok(books.operator().revoke_key(&id).await?)
    })?;
    if session.output.is_json() {
        return session.output.json(&key_json(&record, session));
    }
    let (id, name) = (&record.key.id, printable(&record.key.name));
    let member = printable(&record.member_name);
    session.output.text(format!("{GOOD}Revoked{GOOD:#} key {id} `{name}` of {member}.\n"))
}

/// Create a key and print it once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The key goes to stdout; messages go to stderr. Omitted limits come from `limits.new_keys` in \
gateway.yaml.

Examples:
  agent gateway key create alice --name laptop
  agent gateway key create alice --name ci --scopes models,chat --expires 30d --spend-limit 5 --quiet
  agent gateway key create alice --name app --budget 2/day")]
pub(crate) struct Create {
    /// Member name or id, for example `mem_3`
    member: String,
    /// Name of the key
    #[arg(long)]
    name: String,
    #[command(flatten)]
    given: KeyOptions,
}

pub(crate) fn create(
    args: &Create,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let scopes = args.given.scopes()?.unwrap_or_else(|| Scope::ALL.to_vec());
    let expires_at = args.given.expires(session)?.flatten();
    let Issued { key, record } = OperatorStore::with(location, session, async |books| {
        let order = KeyOrder {
            member: books.member(&args.member).await?.id,
            name: args.name.clone(),
            scopes,
            models: args.given.models(&books.config, session).flatten(),
            expires_at,
            limits: args.given.limits()?.applied(books.config.limits.new_keys.limits()),
        };
        let hasher = secret::hasher(&books.config, &books.store).await?;
        Ok(books.operator().create_key(&hasher, order).await?)
    })?;
    if !session.output.is_json() {
        let (name, member) = (printable(&record.key.name), printable(&record.member_name));
        session.output.note(format!("Created key `{name}` for {member}: {}", record.key.id));
    }
    secret::show(&key, &record, session)
}

/// Replace a key with a new one and print it once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The new key inherits the name, scopes, models, expiry, limits and spend of the old key, which \
stops working after the overlap.

Examples:
  agent gateway key rotate 3fG7aK0pQx2Z
  agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h --quiet")]
pub(crate) struct Rotate {
    /// Public part of the key, or the whole key
    key: String,
    /// How long the old key stays valid, at most 30d
    #[arg(long, value_name = "PERIOD", default_value = "0s")]
    overlap: String,
}

pub(crate) fn rotate(
    args: &Rotate,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let overlap = period(&args.overlap)?;
    let (Issued { key, record }, old) = OperatorStore::with(location, session, async |books| {
        let id = books.key(&args.key).await?.key.id;
        let hasher = secret::hasher(&books.config, &books.store).await?;
        let new = books.operator().rotate_key(&hasher, &id, overlap).await?;
        Ok((new, books.key(&id).await?))
    })?;
    if !session.output.is_json() {
        let until = old.key.expires_at.map(shown).unwrap_or_default();
        session.output.note(format!(
            "Replaced key {} with {}; the old one is valid until {until}.",
            old.key.id, record.key.id
        ));
    }
    secret::show(&key, &record, session)
}
