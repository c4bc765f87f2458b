//! `agent gateway init`: the configuration, database, first member and key of a new service.

use std::net::SocketAddr;
use std::path::Path;

use gateway::config::{Config, DEFAULT_LISTEN};
use gateway::operator::Issued;
use gateway::{key_secret, probe};
use gateway_store::KeyChange;
use serde_json::json;
use task_loop::untrusted::printable;

use super::account::create;
use super::amount::{AmountUnit, in_credits};
use super::first_config::{FirstConfig, HOSTED_PROVIDERS, key_variable, write_if_missing};
use super::local_servers::{candidates, detect};
use super::migrate::bring_up_to_date;
use super::operator_store::{Context, block_on, key_hasher};
use crate::config::secrets::SecretsFile;
use crate::config::secrets::scope;
use crate::diagnostic::{Diagnostic, Result};
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::session::Session;

const KEY_NAME: &str = "first key";
const ADMIN_TOKEN: &str = "AGENT_ADMIN_TOKEN";

/// Create the configuration, a first member and a key
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Uses the API keys in OPENAI_API_KEY and ANTHROPIC_API_KEY, and model servers on this machine. On a \
terminal, asks for what is missing. The key goes to stdout; messages go to stderr.

Examples:
  agent gateway init
  agent gateway init --provider openai --member alice --credit 10
  agent gateway init --database postgres://agent@db/agent --listen 0.0.0.0:8930")]
pub(crate) struct Args {
    /// Provider to add; can be repeated [default: those with an API key]
    #[arg(long, value_name = "NAME", value_parser = HOSTED_PROVIDERS)]
    provider: Vec<String>,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// URL that members use [default: http:// and the address]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Database: sqlite:FILE or a postgres:// URL
    #[arg(long, value_name = "DATABASE", default_value = "sqlite:gateway.sqlite3")]
    database: String,
    /// Name of the first member [default: your user name]
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Initial credit of the member [default: 10]
    #[arg(long, value_name = "AMOUNT")]
    credit: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let session = context.session;
    let path = context.location.path(session)?;
    if path.exists() {
        let message = format!("{} exists already; nothing was changed", path.display());
        return Err(Diagnostic::failed(message)
            .hint("add members with `agent gateway member create`")
            .hint("choose another file with `--config FILE`"));
    }
    let person = Prompt::find(&session.output);
    let member = answered(
        person.as_ref(),
        args.member.as_ref(),
        "Name of the first member",
        &user(session),
    )?;
    let credit = answered(person.as_ref(), args.credit.as_ref(), "Initial credit", "10")?;
    let credit = args.unit.read(&credit)?;
    if credit.is_negative() {
        return Err(Diagnostic::usage("the initial credit must not be negative"));
    }
    let hosted = hosted_providers(args, person.as_ref(), session)?;
    let env_file = session.home()?.env_file();
    let token = key_secret::draw()
        .ok_or_else(|| Diagnostic::failed("cannot generate random bytes for the key"))?;
    let (_, admin_variable) = SecretsFile::store(&env_file, ADMIN_TOKEN, token.secret())?;
    let config = {
        let listen = args.listen.to_string();
        let first_config = FirstConfig {
            servers: &[],
            hosted: &hosted,
            can_speak: false,
            listen: &listen,
            public_url: args.public_url.as_deref(),
            database: &args.database,
            admin_token: Some(&admin_variable),
            log_level: "info",
        };
        block_on(write(first_config, &path, context))?
    };
    let providers: Vec<String> = config.providers.iter().map(|it| it.name.clone()).collect();
    let (account, Issued { key, record }) = context.with_config(config, async |books| {
        let (created, account) =
            create(books, ledger::AccountKind::Member, &member, credit).await?;
        let wanted = KeyChange { name: Some(KEY_NAME.to_owned()), ..KeyChange::default() };
        let limits = books.config.limits.new_keys.limits();
        let hasher = key_hasher(&books.config, &books.store).await?;
        let issued = books.operator().create_key(&hasher, created.id, wanted, limits).await?;
        Ok((account, issued))
    })?;
    let output = &session.output;
    let json = json!({
        "config": path.to_string_lossy(),
        "providers": providers,
        "member": record.member_name,
        "balance_micros": account.balance.get(),
        "key_id": record.key.id,
        "key": key.as_str(),
    });
    let providers = if providers.is_empty() { "none yet".to_owned() } else { providers.join(", ") };
    output.tell(format!("{GOOD}Created{GOOD:#} {}\n", path.display()));
    output.tell(format!("  Providers  {}", printable(&providers)));
    output.tell(format!("  Member     {}, {}", printable(&member), in_credits(account.balance)));
    output.tell(format!("  Operator   {admin_variable} in {}", env_file.display()));
    output.tell("  Key        shown only now:\n");
    output.print(&json, format!("{}\n", key.as_str()))?;
    output.tell(
        "\nNext:\n\n  agent gateway check\n  agent gateway serve\n  \
         agent gateway member create bob --credit 10\n  agent gateway key create bob --name laptop",
    );
    Ok(())
}

async fn write(first_config: FirstConfig<'_>, path: &Path, context: Context<'_>) -> Result<Config> {
    let servers = detect(candidates(&[], false)).await;
    let can_speak = probe::can_speak().await;
    let first_config = FirstConfig { servers: &servers, can_speak, ..first_config };
    write_if_missing(path, &first_config)?;
    let prepared = async {
        let config = context.load()?;
        bring_up_to_date(&config).await?;
        Ok(config)
    };
    prepared.await.inspect_err(|_: &Diagnostic| {
        // The command can then be repeated with other options.
        let _ = std::fs::remove_file(path);
    })
}

/// Providers with an API key that is known or typed now.
fn hosted_providers(
    args: &Args,
    person: Option<&Prompt>,
    session: &Session,
) -> Result<Vec<String>> {
    let home = session.home()?;
    let scope = scope(session, &home)?;
    let is_set = |provider: &String| {
        let variable = key_variable(provider);
        let value = scope.secrets.get(&variable).or_else(|| scope.process.get(&variable));
        value.is_some_and(|value| !value.is_empty())
    };
    if args.provider.is_empty() {
        return Ok(HOSTED_PROVIDERS.map(str::to_owned).into_iter().filter(is_set).collect());
    }
    for name in args.provider.iter().filter(|name| !is_set(name)) {
        let variable = key_variable(name);
        let typed = match person {
            Some(person) => person.ask_secret(&format!("API key of {name}:"))?.unwrap_or_default(),
            None => String::new(),
        };
        if typed.is_empty() {
            let message = format!("{variable} is not set, which `--provider {name}` needs");
            let hint = format!("set it in the environment or in {}", home.env_file().display());
            return Err(Diagnostic::configuration(message).hint(hint));
        }
        SecretsFile::store(&home.env_file(), &variable, &typed)?;
    }
    Ok(args.provider.clone())
}

/// An option, else the typed answer, else the default.
fn answered(
    person: Option<&Prompt>,
    given: Option<&String>,
    question: &str,
    default: &str,
) -> Result<String> {
    let typed = match (given, person) {
        (Some(given), _) => Some(given.clone()),
        (None, Some(person)) => person.ask(&format!("{question} [{default}]:"))?,
        (None, None) => None,
    };
    Ok(typed.filter(|typed| !typed.is_empty()).unwrap_or_else(|| default.to_owned()))
}

fn user(session: &Session) -> String {
    let user = session.environment.all.get("USER").filter(|user| !user.is_empty());
    user.cloned().unwrap_or_else(|| "admin".to_owned())
}
