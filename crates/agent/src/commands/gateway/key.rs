//! `agent gateway key`: the API keys of members.

mod options;

use clap::Subcommand;
use gateway::operator::Issued;
use gateway::rfc3339;
use gateway_store::{KeyRecord, Scope};
use ledger::{MemberId, Micros};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use self::options::KeyOptions;
use super::amount::{
    budget_json, budget_status_json, budget_status_text, in_credits, typed_budget,
};
use super::moment::{now, period, shown};
use super::operator_store::{Context, OperatorStore, key_hasher};
use crate::diagnostic::{Diagnostic, Result};
use crate::output::GOOD;
use crate::session::Session;
use crate::table::{Table, details};
pub(super) use options::optional;

/// Create, limit, rotate and revoke API keys
#[derive(Debug, Subcommand)]
#[command(after_help = "\
KEY is the public part shown by `key list`, or the whole key. A running service applies changes \
within two seconds.

Examples:
  agent gateway key create alice --name laptop
  agent gateway key list alice
  agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h")]
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

pub(crate) fn run(command: Command, context: Context<'_>) -> Result {
    match command {
        Command::Create(args) => context.with(async |books| create(&args, books).await),
        Command::List(args) => context.with(async |books| list(&args, books).await),
        Command::Show(args) => context.with(async |books| show(&args, books).await),
        Command::Change(args) => change(&args, context),
        Command::Rotate(args) => rotate(&args, context),
        Command::Revoke(args) => context.with(async |books| revoke(&args, books).await),
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

/// The JSON of a key, without its secret.
fn key_json(record: &KeyRecord, session: &Session) -> Value {
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

pub(super) fn keys_json(records: &[KeyRecord], session: &Session) -> Value {
    records.iter().map(|record| key_json(record, session)).collect()
}

pub(super) fn key_table(records: &[KeyRecord], session: &Session) -> Table {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let row = |record: &KeyRecord| {
        let (key, limits) = (&record.key, &record.limits);
        [
            key.id.clone(),
            key.name.clone(),
            state(record, session).to_owned(),
            or_dash(key.expires_at.map(shown)),
            or_dash(limits.spend.map(|spend| spend.to_string())),
            or_dash(limits.budget.map(typed_budget)),
            or_dash(limits.requests_per_minute.map(|limit| limit.to_string())),
            or_dash(limits.concurrency.map(|limit| limit.to_string())),
            scopes(record),
            key.models.as_ref().map_or_else(|| "all".to_owned(), |models| models.join(",")),
        ]
    };
    let limits = ["spend limit", "budget", "rpm", "concurrency"];
    let headings = ["key", "name", "state", "expires"].into_iter().chain(limits);
    Table::new(headings.chain(["scopes", "models"]))
        .align_right(&limits)
        .rows(records.iter().map(row))
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

async fn list(args: &List, books: &OperatorStore<'_>) -> Result {
    let records = match &args.member {
        Some(word) => books.store.keys(books.member(word).await?.id).await?,
        None => all(books).await?,
    };
    let row = |record: &KeyRecord| {
        let (key, member) = (&record.key, record.member_name.clone());
        [key.id.clone(), member, key.name.clone(), state(record, books).to_owned()]
    };
    let table = match &args.member {
        Some(_) => key_table(&records, books),
        None => Table::new(["key", "member", "name", "state"]).rows(records.iter().map(row)),
    };
    let none = "No keys. Create one with `agent gateway key create`.";
    table.print(&books.output, &json!({ "keys": keys_json(&records, books) }), none)?;
    if args.member.is_none() && records.len() >= MAX_LISTED && !books.output.is_json() {
        books.output.warn(format!("only the first {MAX_LISTED} keys are shown"));
    }
    Ok(())
}

async fn all(books: &OperatorStore<'_>) -> Result<Vec<KeyRecord>> {
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

async fn show(args: &KeyArgs, books: &OperatorStore<'_>) -> Result {
    let record = books.key(&args.key).await?;
    let lineage = books.store.lineage(record.key.lineage).await?;
    let status = lineage.as_ref().and_then(|found| found.budget_status(&books.windows()));
    let (spent, held, running) = lineage
        .map_or((Micros::ZERO, Micros::ZERO, 0), |found| (found.spent, found.held, found.running));
    let mut json = key_json(&record, books);
    json["spent_micros"] = spent.get().into();
    json["held_micros"] = held.get().into();
    json["running"] = running.into();
    json["budget"] = budget_status_json(status.as_ref());
    let (key, limits) = (&record.key, &record.limits);
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "no limit".to_owned());
    let models = key.models.as_ref().map_or_else(|| "all".to_owned(), |models| models.join(", "));
    let lines = details(&[
        ("member", format!("{} ({})", record.member_name, key.member)),
        ("since", shown(key.created_at)),
        ("expires", key.expires_at.map_or_else(|| "never".to_owned(), shown)),
        ("scopes", scopes(&record)),
        ("models", models),
        ("spent", in_credits(spent)),
        ("spend limit", or_none(limits.spend.map(in_credits))),
        ("budget", budget_status_text(status.as_ref())),
        ("per minute", or_none(limits.requests_per_minute.map(|limit| limit.to_string()))),
        ("concurrency", or_none(limits.concurrency.map(|limit| limit.to_string()))),
        ("running", running.to_string()),
    ]);
    let (name, state) = (printable(&key.name), state(&record, books));
    books.output.print(&json, format!("{} `{name}`: {state}\n{lines}", key.id))
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

fn change(args: &Change, context: Context<'_>) -> Result {
    if args.name.is_none() && args.given.is_empty() {
        return Err(Diagnostic::usage("nothing to change")
            .hint("see `agent gateway key change --help` for the options"));
    }
    context.with(async |books| {
        let id = books.key(&args.key).await?.key.id;
        let change = args.given.change(args.name.clone(), &books.config, books)?;
        let record = books.operator().change_key(&id, change).await?;
        books.output.tell(format!("{GOOD}Changed{GOOD:#} key {id}."));
        let json = key_json(&record, books);
        books.output.print(&json, key_table(&[record], books).text())
    })
}

async fn revoke(args: &KeyArgs, books: &OperatorStore<'_>) -> Result {
    let id = books.key(&args.key).await?.key.id;
    let record = books.operator().revoke_key(&id).await?;
    let (name, member) = (printable(&record.key.name), printable(&record.member_name));
    let text = format!("{GOOD}Revoked{GOOD:#} key {id} `{name}` of {member}.\n");
    books.output.print(&key_json(&record, books), text)
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

async fn create(args: &Create, books: &OperatorStore<'_>) -> Result {
    let member = books.member(&args.member).await?.id;
    let wanted = args.given.change(Some(args.name.clone()), &books.config, books)?;
    let limits = books.config.limits.new_keys.limits();
    let hasher = key_hasher(&books.config, &books.store).await?;
    let issued = books.operator().create_key(&hasher, member, wanted, limits).await?;
    let record = &issued.record;
    let (name, member) = (printable(&record.key.name), printable(&record.member_name));
    let done = format!("Created key `{name}` for {member}: {}", record.key.id);
    print_secret(&issued, &done, books)
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

fn rotate(args: &Rotate, context: Context<'_>) -> Result {
    let overlap = period(&args.overlap)?;
    context.with(async |books| {
        let id = books.key(&args.key).await?.key.id;
        let hasher = key_hasher(&books.config, &books.store).await?;
        let issued = books.operator().rotate_key(&hasher, &id, overlap).await?;
        let until = books.key(&id).await?.key.expires_at.map(shown).unwrap_or_default();
        let new = &issued.record.key.id;
        let done = format!("Replaced key {id} with {new}; the old one is valid until {until}.");
        print_secret(&issued, &done, books)
    })
}

/// Prints a key, alone on standard output: it cannot be shown again.
fn print_secret(issued: &Issued, done: &str, session: &Session) -> Result {
    let (key, output) = (issued.key.as_str(), &session.output);
    let mut value = key_json(&issued.record, session);
    value["key"] = Value::from(key);
    output.tell(done);
    output.print(&value, format!("{key}\n"))?;
    output.tell("Save the key now: it is not shown again.");
    Ok(())
}
