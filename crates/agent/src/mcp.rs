//! The configured MCP servers, as the commands use them: read, resolved, and connected.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_client::Client;
use mcp_client::config::{Parsed, Scope, ServerEntry, env_file, parse};
use mcp_client::host::{Approver, Decline, Host, Identity, Observer};
use mcp_client::redact::Redactor;

use crate::config;
use crate::diagnostic::Diagnostic;
use crate::home::Home;
use crate::session::Session;

/// What the configuration says about servers.
#[derive(Debug)]
pub(crate) struct Servers {
    /// The file it was read from.
    pub(crate) path: PathBuf,
    /// The servers, and everything that is wrong with them.
    pub(crate) parsed: Parsed,
    /// What references resolve to.
    pub(crate) scope: Scope,
}

impl Servers {
    /// Reads the configuration of the profile. A missing file configures nothing.
    pub(crate) fn load(session: &Session) -> Result<Self, Diagnostic> {
        let home = session.home()?;
        let path = home.config();
        let text = config::read(&path)?.unwrap_or_default();
        let scope = scope(session, &home)?;
        let parsed = parse(&text, &scope);
        Ok(Self { path, parsed, scope })
    }

    /// The entries, in the order of the file.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &ServerEntry> {
        self.parsed.servers.iter().map(|configured| &configured.entry)
    }

    /// What knows every secret of the configuration.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.parsed.servers.iter().flat_map(|configured| {
            configured
                .secrets
                .iter()
                .map(|secret| (secret.label.clone(), secret.value().to_owned()))
        }))
    }
}

/// What references resolve to: the profile's secrets, then the environment.
pub(crate) fn scope(session: &Session, home: &Home) -> Result<Scope, Diagnostic> {
    let secrets = match config::read(&home.env_file())? {
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

/// What the client is handed by this program.
pub(crate) fn host(
    session: &Session,
    redactor: Arc<Redactor>,
    approver: Arc<dyn Approver>,
    observer: Arc<dyn Observer>,
) -> Result<Host, Diagnostic> {
    let home = session.home()?;
    let program = std::env::current_exe().ok().map(|path| path.to_string_lossy().into_owned());
    Ok(Host {
        identity: Identity::default(),
        environment: session.environment.all.clone(),
        home: session.environment.home.clone(),
        log_dir: Some(home.logs()),
        cache_dir: Some(home.cache()),
        guardian: program.map(|program| vec![program, "mcp".to_owned(), "guard".to_owned()]),
        redactor,
        requests: Arc::new(Decline),
        approver,
        observer,
    })
}

/// Runs `work` with its own runtime. Ctrl-C ends it with everything the client started.
pub(crate) fn block_on<T>(
    client: impl FnOnce() -> Client,
    work: impl AsyncFnOnce(&Client) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    runtime()?.block_on(async {
        let client = client();
        let done = tokio::select! {
            done = work(&client) => done,
            _ = tokio::signal::ctrl_c() => Err(Diagnostic::interrupted()),
        };
        client.close().await;
        done
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Diagnostic> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Diagnostic::failed("cannot start the runtime").because(&error))
}

/// An error of a server, as it is shown.
pub(crate) fn trouble(server: &str, error: &mcp_client::Error) -> Diagnostic {
    let message = format!("server `{server}`: {error}");
    match error.kind() {
        mcp_client::Kind::Configuration => Diagnostic::configuration(message),
        mcp_client::Kind::SignIn => Diagnostic::sign_in(message),
        mcp_client::Kind::Transient => Diagnostic::peer(message),
        mcp_client::Kind::Call => Diagnostic::failed(message),
    }
}
