//! `agent up`: the member service on this machine, with a member, a key and the models found here.

#[cfg(feature = "local-model")]
mod embedded;
#[cfg(not(feature = "local-model"))]
#[path = "up/no_embedded.rs"]
mod embedded;
mod first_member;
pub(super) mod running;
mod summary;

use std::net::SocketAddr;

use gateway::config::{Config, Provider};
use gateway::{ConfigFile, Problem, Ready, probe};
use http::Uri;

use self::running::ServiceLock;
use self::summary::{AvailableModels, StartSummary, documents};
use super::gateway::{
    FirstConfig, Hangup, Location, Server, address, bring_up_to_date, candidates, detect, merge,
    named, ready, serve, write_if_missing,
};
use crate::diagnostic::Result;
use crate::log;
use crate::session::Session;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Download {
    Allowed,
    Refused,
}

/// Start your own AI service on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first start creates gateway/gateway.yaml in the profile's home, a database, a member `local` \
with credit, and a key in the profile's .env. Each start looks for model servers on this machine \
(Ollama, llama.cpp, vLLM, LM Studio). If there is none, the service runs a small model itself, \
downloaded once (92 MB).

Stop it with Ctrl-C or `agent down`: running requests finish first; repeat to stop immediately.

Examples:
  agent up
  agent up --listen 127.0.0.1:9000
  agent up --no-download
  agent up --server gpu=http://192.168.1.20:8000/v1")]
pub(crate) struct Args {
    /// Address to listen on [default: `listen` in gateway.yaml]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Do not look for local model servers
    #[arg(long)]
    no_discover: bool,
    /// Do not download a model if none is found
    #[arg(long)]
    no_download: bool,
    /// Also look for a model server at this URL
    #[arg(long, value_name = "NAME=URL", value_parser = named)]
    server: Vec<Server>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let claim = ServiceLock::take(session)?;
    let start = |start: StartSummary| {
        claim.report(Some(start.address))?;
        start.report(session)
    };
    serve(prepare(args, session), start, Hangup::Stop, session)
}

async fn prepare(args: &Args, session: &Session) -> Result<(Ready, StartSummary)> {
    let path = session.home()?.gateway().join("gateway.yaml");
    let found = detect(candidates(&args.server, args.no_discover)).await;
    // Probed once: an existing file decides whether it is used.
    let can_speak = !path.exists() && probe::can_speak().await;
    let is_new = write_if_missing(&path, &FirstConfig::local(&found, can_speak))?;
    let mut config = Location::default().load(session)?;
    let written: Vec<String> = config.providers.iter().map(|it| it.name.clone()).collect();
    let mut added = merge(&mut config, &found);
    let download = if args.no_download { Download::Refused } else { Download::Allowed };
    added.extend(embedded::provide(&mut config, &found, download, session).await?);
    if let Some(listen) = args.listen {
        if !listen.ip().is_loopback() {
            session.output.warn("other machines can connect, and the traffic is not encrypted");
        }
        move_to(&mut config, listen);
    }
    log::start_service(config.log, session);
    bring_up_to_date(&config).await?;
    let local = first_member::find_or_make(&config, session).await?;
    let models = AvailableModels::of(&config, &found, added).await;
    let documents = documents(&config);
    let wanted = config.listen;
    let source = source(&config, &written, args.listen, session);
    let ready = ready(config).await?;
    ready.service.reloads().read_with(source);
    let address = address(&ready)?;
    let base = first_member::remember_address(address, wanted, session)?;
    Ok((ready, StartSummary { address, path, is_new, local, models, base, documents }))
}

/// Reads the file again for a reload, with the address and providers that it lacks.
fn source(
    config: &Config,
    written: &[String],
    listen: Option<SocketAddr>,
    session: &Session,
) -> impl Fn() -> Result<ConfigFile, Problem> + Send + Sync + use<> {
    let is_added = |provider: &&Provider| !written.contains(&provider.name);
    let added: Vec<Provider> = config.providers.iter().filter(is_added).cloned().collect();
    Location::default().source(session, move |config| {
        let missing = added.iter().filter(|it| config.provider(&it.name).is_none());
        let missing: Vec<Provider> = missing.cloned().collect();
        config.providers.extend(missing);
        if let Some(listen) = listen {
            move_to(config, listen);
        }
    })
}

/// Changes the listen address; the address for clients follows unless it is set separately.
fn move_to(config: &mut Config, listen: SocketAddr) {
    let own = |address: SocketAddr| format!("http://{address}").parse::<Uri>().unwrap_or_default();
    if config.public_url == own(config.listen) {
        config.public_url = own(listen);
    }
    config.listen = listen;
}
