//! What `${NAME}` references in configuration files resolve to.

use std::collections::BTreeMap;

use settings::{Scope, env_file};

use crate::config;
use crate::diagnostic::Diagnostic;
use crate::home::Home;
use crate::session::Session;

pub(crate) fn scope(session: &Session, home: &Home) -> Result<Scope, Diagnostic> {
    let secrets = match config::read_lossy(&home.env_file())? {
        Some(text) => env_file::parse(&text).0,
        None => BTreeMap::new(),
    };
    Ok(Scope {
        secrets,
        process: session.environment.all.clone(),
        home: session.environment.home.clone(),
        workspace: std::env::current_dir().unwrap_or_default(),
    })
}
