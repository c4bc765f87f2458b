//! What `${NAME}` references in configuration files resolve to.

use std::collections::BTreeMap;

use settings::{Scope, env_file};

use crate::config;
use crate::config::secrets::{SecretPlace, SecretsFile};
use crate::diagnostic::Diagnostic;
use crate::home::Home;
use crate::session::Session;

pub(crate) fn scope(session: &Session, home: &Home) -> Result<Scope, Diagnostic> {
    let path = home.env_file();
    let mut secrets = match SecretPlace::of(session)? {
        SecretPlace::File => BTreeMap::new(),
        place @ SecretPlace::Keychain => SecretsFile::open(&path, place)?.variables(),
    };
    if let Some(text) = config::read_lossy(&path)? {
        secrets.extend(env_file::parse(&text).0);
    }
    Ok(Scope {
        secrets,
        process: session.environment.all.clone(),
        home: session.environment.home.clone(),
        workspace: std::env::current_dir().unwrap_or_default(),
    })
}
