//! `agent update`: a newer program, verified before it takes the place of this one.

pub(crate) mod channel;
mod offer;
mod program;
mod trial;
mod version;

use std::path::PathBuf;

use serde_json::json;
use task_loop::untrusted::printable;

use self::channel::{Channel, ChannelArgs};
use self::offer::{Offer, State};
use self::program::Program;
use self::version::Version;
use crate::destination::OnConflict;
use crate::diagnostic::Diagnostic;
use crate::download::{Destination, Limits, Progress, fetch};
use crate::output::{BYTES, GOOD};
use crate::runtime::block_on;
use crate::session::Session;

/// Update this program
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The manifest must be signed with `update.public_key` in config.yaml or the built-in key. The new \
program is verified and started once before it replaces this one, which is kept as \
`<name>.previous`.

Examples:
  agent update --check
  agent update
  agent update --rollback
  agent update --channel-url https://example.com/downloads/manifest.json")]
pub(crate) struct Args {
    /// Report whether an update exists and change nothing
    #[arg(long)]
    check: bool,
    /// Manifest URL [default: `update.url`, or the member service]
    #[arg(long, value_name = "URL")]
    channel_url: Option<String>,
    /// Public key of the manifest in base64
    #[arg(long, value_name = "KEY")]
    public_key: Option<String>,
    /// Allow an older version
    #[arg(long)]
    allow_downgrade: bool,
    /// Restore the previous version
    #[arg(long, conflicts_with_all = ["check", "channel_url", "public_key", "allow_downgrade"])]
    rollback: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    if args.rollback {
        return roll_back(session);
    }
    let program = if args.check { None } else { Some(own(session)?) };
    let given = ChannelArgs { url: args.channel_url.as_deref(), key: args.public_key.as_deref() };
    let channel = Channel::find(session, given)?;
    let key = channel.key()?;
    block_on(async {
        let offer = Offer::find(&channel, key, session).await?;
        let wants_older = args.allow_downgrade && offer.state() == State::Older;
        match program {
            Some(program) if offer.state() == State::Newer || wants_older => {
                install(&offer, &program, session).await
            }
            _ => tell(&offer, session),
        }
    })
}

/// This program, if it is ours to replace.
fn own(session: &Session) -> Result<Program, Diagnostic> {
    let program = Program::running()?;
    program.check_is_ours(session)?;
    Ok(program)
}

fn tell(offer: &Offer, session: &Session) -> Result<(), Diagnostic> {
    let (current, published) = (Version::of_this(), printable(&offer.manifest.version));
    if session.output.is_json() {
        return session.output.json(&json!({
            "update_available": offer.state() == State::Newer,
            "current": current.to_string(),
            "published": offer.manifest.version,
            "published_at": offer.manifest.published_at,
            "expires_at": offer.manifest.expires_at,
            "state": offer.state().word(),
            "file": offer.file.as_ref().map(|file| &file.name),
            "bytes": offer.file.as_ref().map(|file| file.bytes),
            "channel": offer.channel,
        }));
    }
    let at = printable(&offer.manifest.published_at);
    session.output.text(match offer.state() {
        State::Newer => format!(
            "{GOOD}agent {published} is available{GOOD:#}, published {at}; this is \
             {current}.\nInstall it with `agent update`.\n"
        ),
        State::Same => format!("agent {current} is the latest version, published {at}.\n"),
        State::Older => format!(
            "agent {published}, published {at}, is older than this version: {current}.\nInstall it \
             with `agent update --allow-downgrade`.\n"
        ),
        State::Missing => format!(
            "agent {published} was published {at}, but not for {}; this is {current}.\n",
            offer::platform()
        ),
    })
}

async fn install(offer: &Offer, program: &Program, session: &Session) -> Result<(), Diagnostic> {
    let lock = program.lock()?;
    let (wanted, name) = offer.wanted()?;
    let fresh = program.beside(&offer.version);
    let bar = session.output.progress(wanted.bytes, BYTES);
    let watch = |progress: Progress<'_>| match progress {
        Progress::At(bytes) => bar.set_position(bytes),
        Progress::Again { reason, pause } => {
            let seconds = pause.as_secs_f32();
            bar.suspend(|| session.output.detail(format!("{reason}; retrying in {seconds} s")));
        }
    };
    let place = Destination { path: &fresh, existing: OnConflict::Replace, mode: program.mode };
    let fetched = fetch(&offer.member, &wanted, &place, &Limits::default(), &watch).await;
    bar.finish_and_clear();
    fetched.map_err(|error| error.diagnostic(name, &offer.member))?;
    let fresh = StagedProgram(fresh);
    trial::check(&fresh.0, &offer.version).await?;
    program.switch_to(&fresh.0)?;
    drop(lock);
    told(&Version::of_this(), &offer.version, program, session)
}

/// A program on its way to its place; what does not get there is removed.
struct StagedProgram(PathBuf);

impl Drop for StagedProgram {
    fn drop(&mut self) {
        // Usually it is in its place by now.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn roll_back(session: &Session) -> Result<(), Diagnostic> {
    let program = own(session)?;
    let lock = program.lock()?;
    let previous = program.previous();
    if !previous.is_file() {
        let message = format!("no previous program at {}", previous.display());
        return Err(Diagnostic::failed(message).hint("an update keeps the previous program there"));
    }
    let version = block_on(trial::version(&previous))?;
    program.roll_back()?;
    drop(lock);
    told(&Version::of_this(), &version, &program, session)
}

fn told(
    from: &Version,
    to: &Version,
    program: &Program,
    session: &Session,
) -> Result<(), Diagnostic> {
    let (path, previous) = (&program.path, program.previous());
    if session.output.is_json() {
        return session.output.json(&json!({
            "updated": true,
            "from": from.to_string(),
            "to": to.to_string(),
            "program": path,
            "previous": previous,
        }));
    }
    session.output.text(format!(
        "{GOOD}{}{GOOD:#} is now agent {to}; it was {from}.\nThe previous program is kept as {}; \
         restore it with `agent update --rollback`.\n",
        path.display(),
        previous.display()
    ))
}
