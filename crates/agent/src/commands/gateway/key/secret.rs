//! New keys: random, hashed for the store, shown once.

use gateway::config::Config;
use gateway::{KeyHasher, key_secret};
use gateway_store::{KeyRecord, Store};
use serde_json::Value;
use wire::key::ApiKey;

use super::key_json;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

pub(crate) fn new_key() -> Result<ApiKey, Diagnostic> {
    key_secret::draw().ok_or_else(|| Diagnostic::failed("cannot generate random bytes for the key"))
}

/// What hashes the keys of this database; one that made none of its keys is refused.
pub(crate) async fn hasher(config: &Config, store: &Store) -> Result<KeyHasher, Diagnostic> {
    let hasher = key_secret::load(&config.key_secret)?;
    key_secret::check(&hasher, store).await?;
    Ok(hasher)
}

/// Shows a key, alone on standard output: it cannot be shown again.
pub(super) fn show(key: &ApiKey, record: &KeyRecord, session: &Session) -> Result<(), Diagnostic> {
    if session.output.is_json() {
        let mut value = key_json(record, session);
        value["key"] = Value::from(key.as_str());
        return session.output.json(&value);
    }
    session.output.text(format!("{}\n", key.as_str()))?;
    session.output.note("Save the key now: it is not shown again.");
    Ok(())
}
