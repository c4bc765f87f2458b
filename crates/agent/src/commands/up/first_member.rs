//! The member of this machine: created once, with credit and a key in the profile's `.env`.

use std::net::SocketAddr;
use std::path::PathBuf;

use gateway::config::{Config, DEFAULT_LISTEN};
use gateway::operator::Operator;
use gateway::{KeyHasher, open_store};
use gateway_store::{KeyChange, Member, Store};
use ledger::{Limits, Micros, PostingKind, Transfer};
use wire::key::ApiKey;

use super::super::gateway::{actor, key_hasher, now};
use crate::config::lock;
use crate::config::secrets::{SecretsFile, scope};
use crate::diagnostic::Result;
use crate::session::Session;

const NAME: &str = "local";
/// Initial credit: a thousand credits.
const CREDIT: Micros = Micros::new(1_000_000_000);
/// The variables of the key and of the address for clients.
const KEY_VARIABLE: &str = "AGENT_API_KEY";
const ADDRESS_VARIABLE: &str = "AGENT_BASE_URL";

#[derive(Debug)]
pub(super) struct LocalMember {
    pub(super) member: Member,
    pub(super) balance: Micros,
    pub(super) key_id: String,
    pub(super) variable: String,
    pub(super) env_file: PathBuf,
}

pub(super) async fn find_or_make(config: &Config, session: &Session) -> Result<LocalMember> {
    let store = open_store(config).await?;
    let found = of_store(config, &store, session).await;
    store.close().await;
    found
}

async fn of_store(config: &Config, store: &Store, session: &Session) -> Result<LocalMember> {
    let home = session.home()?;
    let hasher = key_hasher(config, store).await?;
    let by = actor(session);
    let operator = Operator { store, by: &by };
    let member = member(operator).await?;
    // Prevents others from adding a key to the file meanwhile.
    let lock = lock::take(&home.config())?;
    let secrets = scope(session, &home)?.secrets;
    let names = secrets.iter().filter(|(name, _)| name.starts_with(KEY_VARIABLE));
    let mut known = None;
    for (name, value) in names {
        if let Some(id) = good_key(store, &hasher, value, session).await? {
            known = Some((name.clone(), id));
            break;
        }
    }
    let (variable, key_id) = match known {
        Some(known) => known,
        None => new_key(operator, &hasher, &member, session).await?,
    };
    drop(lock);
    let account = store.account(member.id).await?;
    let balance = account.map_or(Micros::ZERO, |account| account.balance);
    Ok(LocalMember { member, balance, key_id, variable, env_file: home.env_file() })
}

async fn member(operator: Operator<'_>) -> Result<Member> {
    let known = operator.store.member_by_name(NAME).await?;
    if let Some(member) = known {
        return Ok(member);
    }
    let member = operator.create_member(NAME).await?;
    let reason = "first credit of this machine".to_owned();
    let (kind, amount) = (PostingKind::TopUp, CREDIT);
    let transfer = Transfer { member: member.id, kind, amount, reason, reference: None };
    operator.transfer(transfer).await?;
    Ok(member)
}

/// The public part of a key that this service accepts.
async fn good_key(
    store: &Store,
    hasher: &KeyHasher,
    text: &str,
    session: &Session,
) -> Result<Option<String>> {
    let Some(key) = ApiKey::parse(text) else { return Ok(None) };
    let record = store.key(key.public_id()).await?;
    Ok(record
        .map(|record| record.key)
        .filter(|known| {
            let is_over = known.expires_at.is_some_and(|at| at <= now(session));
            known.hash == hasher.hash(&key) && known.revoked_at.is_none() && !is_over
        })
        .map(|known| known.id))
}

/// Creates a key in the profile's `.env`: returns the variable, and the public part.
async fn new_key(
    operator: Operator<'_>,
    hasher: &KeyHasher,
    member: &Member,
    session: &Session,
) -> Result<(String, String)> {
    let path = session.home()?.env_file();
    let wanted = KeyChange { name: Some("agent up".to_owned()), ..KeyChange::default() };
    let limits = Limits::default();
    let key = operator.create_key(hasher, member.id, wanted, limits).await?.key;
    let id = key.public_id().to_owned();
    let stored = SecretsFile::store(&path, KEY_VARIABLE, key.as_str());
    if stored.is_err() {
        // Nobody has this key.
        operator.revoke_key(&id).await?;
    }
    let (file, variable) = stored?;
    if file.is_open_to_others() {
        session.output.warn(format!("others may read {}: `chmod 600` it", path.display()));
    }
    if variable != KEY_VARIABLE {
        session.output.warn(format!(
            "{KEY_VARIABLE} does not open this service; the key of this one is {variable}"
        ));
    }
    Ok((variable, id))
}

/// Stores the address for clients if it is not the default; returns the base address.
pub(super) fn remember_address(
    address: SocketAddr,
    wanted: SocketAddr,
    session: &Session,
) -> Result<String> {
    let base = format!("http://{address}/v1");
    let home = session.home()?;
    let _lock = lock::take(&home.config())?;
    let noted = scope(session, &home)?.secrets.remove(ADDRESS_VARIABLE);
    let is_default = address.to_string() == DEFAULT_LISTEN;
    match noted {
        Some(noted) if noted == base => {}
        Some(noted) => session.output.warn(format!(
            "{ADDRESS_VARIABLE} in {} is {noted}, but this service is at {base}",
            home.env_file().display()
        )),
        // A port chosen by the system is another one next time.
        None if is_default || wanted.port() == 0 => {}
        None => {
            SecretsFile::store(&home.env_file(), ADDRESS_VARIABLE, &base)?;
        }
    }
    Ok(base)
}
