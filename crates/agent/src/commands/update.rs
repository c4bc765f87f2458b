//! `agent update`: installs a newer, verified program in place of this one.

mod offer;
mod program;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use semver::{BuildMetadata, Version};
use serde_json::json;
use settings::{Located, section};
use task_loop::untrusted::printable;
use tempfile::TempPath;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use wire::download::{PUBLIC_KEY_BYTES, is_name, read_public_key};

use self::offer::{Offer, State};
use self::program::Program;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::{Destination, OnConflict, download};
use crate::member::settings::{Settings, Sourced};
use crate::output::GOOD;
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
    #[command(flatten)]
    channel: ChannelArgs,
    /// Allow an older version
    #[arg(long)]
    allow_downgrade: bool,
    /// Restore the previous version
    #[arg(long, conflicts_with_all = ["check", "channel_url", "public_key", "allow_downgrade"])]
    rollback: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    if args.rollback {
        return roll_back(session);
    }
    let program = if args.check { None } else { Some(own(session)?) };
    let channel = Channel::find(session, &args.channel)?;
    let key = channel.key()?;
    block_on(async {
        let offer = Offer::find(&channel, key, session).await?;
        let wants_older = args.allow_downgrade && offer.state() == State::Older;
        match program {
            Some(program) if offer.state() == State::Newer || wants_older => {
                install(&offer, &program, session).await
            }
            _ => report(&offer, session),
        }
    })
}

/// This program, if we may replace it.
fn own(session: &Session) -> Result<Program> {
    let program = Program::running()?;
    program.check_is_ours(session)?;
    Ok(program)
}

fn report(offer: &Offer, session: &Session) -> Result {
    let (current, published) = (own_version(), printable(&offer.manifest.version));
    let document = json!({
        "update_available": offer.state() == State::Newer,
        "current": current.to_string(),
        "published": offer.manifest.version,
        "published_at": offer.manifest.published_at,
        "expires_at": offer.manifest.expires_at,
        "state": offer.state(),
        "file": offer.file.as_ref().map(|file| &file.name),
        "bytes": offer.file.as_ref().map(|file| file.bytes),
        "channel": offer.channel,
    });
    let at = printable(&offer.manifest.published_at);
    let text = match offer.state() {
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
    };
    session.output.print(&document, text)
}

async fn install(offer: &Offer, program: &Program, session: &Session) -> Result {
    let lock = program.lock()?;
    let (wanted, name) = offer.download_request()?;
    let fresh = program.beside(&offer.version);
    let place = Destination { path: &fresh, existing: OnConflict::Replace, mode: program.mode };
    download(&offer.member, &wanted, &place, name, session).await?;
    // Removed if the installation fails.
    let fresh = TempPath::try_from_path(&fresh).or_cannot("use", &fresh)?;
    let (found, expected) = (version(&fresh).await?, &offer.version);
    if found != *expected {
        let message = format!("the program reports version {found}, but {expected} was published");
        return Err(
            Diagnostic::peer(message).hint("nothing was changed; report this to the publisher")
        );
    }
    program.switch_to(&fresh)?;
    drop(lock);
    outcome(&own_version(), &offer.version, program, session)
}

fn roll_back(session: &Session) -> Result {
    let program = own(session)?;
    let lock = program.lock()?;
    let previous = program.previous();
    if !previous.is_file() {
        let message = format!("no previous program at {}", previous.display());
        return Err(Diagnostic::failed(message).hint("an update keeps the previous program there"));
    }
    let version = block_on(version(&previous))?;
    program.roll_back()?;
    drop(lock);
    outcome(&own_version(), &version, &program, session)
}

fn outcome(from: &Version, to: &Version, program: &Program, session: &Session) -> Result {
    let (path, previous) = (&program.path, program.previous());
    let updated = json!({
        "updated": true,
        "from": from.to_string(),
        "to": to.to_string(),
        "program": path.to_string_lossy(),
        "previous": previous,
    });
    let text = format!(
        "{GOOD}{}{GOOD:#} is now agent {to}; it was {from}.\nThe previous program is kept as {}; \
         restore it with `agent update --rollback`.\n",
        path.display(),
        previous.display()
    );
    session.output.print(&updated, text)
}

/// A version such as `1.2.3`, `v1.2` or `1.2.3-rc.1`, without build metadata.
fn parse_version(text: &str) -> Option<Version> {
    if !is_name(text) {
        return None;
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, rest) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let missing = ".0".repeat(2_usize.saturating_sub(numbers.matches('.').count()));
    let version = Version::parse(&format!("{numbers}{missing}{rest}")).ok()?;
    Some(Version { build: BuildMetadata::EMPTY, ..version })
}

fn own_version() -> Version {
    // A test checks that the version of the manifest can be parsed.
    parse_version(env!("CARGO_PKG_VERSION")).unwrap_or_else(|| Version::new(0, 0, 0))
}

const MAX_WAIT: Duration = Duration::from_secs(10);
const MAX_BYTES: u64 = 4096;

async fn version(path: &Path) -> Result<Version> {
    let said = tokio::time::timeout(MAX_WAIT, printed_version(path)).await;
    let what = match said {
        Ok(Ok(text)) => {
            // A line such as `agent 1.2.3`.
            let line = text.lines().next().unwrap_or_default();
            match line.split_whitespace().last().and_then(parse_version) {
                Some(version) => return Ok(version),
                None => format!("`--version` printed `{}`", printable(text.trim())),
            }
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("`--version` took longer than {} s", MAX_WAIT.as_secs()),
    };
    Err(Diagnostic::failed(format!("{} does not run here", path.display()))
        .cause(what)
        .hint("nothing was changed; report this to the publisher"))
}

async fn printed_version(path: &Path) -> std::io::Result<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut text = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_BYTES).read_to_end(&mut text).await?;
    }
    let status = child.wait().await?;
    if !status.success() {
        return Err(std::io::Error::other(format!("`--version` exited with {status}")));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Set at build time by distributors.
const BUILT_IN_URL: Option<&str> = option_env!("AGENT_UPDATE_URL");
const BUILT_IN_KEY: Option<&str> = option_env!("AGENT_UPDATE_PUBLIC_KEY");

pub(crate) type PublicKey = [u8; PUBLIC_KEY_BYTES];

#[derive(Debug, Default, clap::Args)]
pub(crate) struct ChannelArgs {
    /// Manifest URL [default: `update.url`, or the member service]
    #[arg(long, value_name = "URL")]
    channel_url: Option<String>,
    /// Public key of the manifest in base64
    #[arg(long, value_name = "KEY")]
    public_key: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) base: Sourced<String>,
    /// The required signing key.
    pub(crate) key: Option<Sourced<PublicKey>>,
    /// The file where a key can be set.
    config: String,
}

section! {
    /// Where updates of the program come from.
    pub(crate) struct UpdateFile {
        /// Address of the manifest or of its folder; the member service unless given.
        #[schemars(extend("x-optional" = true))]
        url: Option<Located>,
        /// The key that the manifest must be signed with, as `agent gateway downloads key --show`
        /// prints it.
        #[schemars(extend("x-optional" = true))]
        public_key: Option<Located>,
    }
}

impl Channel {
    /// The command line first, then the configuration, then the built-in values.
    pub(crate) fn find(session: &Session, given: &ChannelArgs) -> Result<Self> {
        let path = session.home()?.config();
        let document = session.config()?;
        let section: UpdateFile = document.section("update")?;
        let first = |(given, option): (Option<&String>, &str),
                     written: Option<&Located>,
                     key: &str,
                     built_in: Option<&str>| {
            let set =
                |value: &str, place: String| Sourced { value: value.trim().to_owned(), place };
            let found = given.map(|value| set(value, option.to_owned()));
            let found = found.or_else(|| {
                let place = format!("`update.{key}` at {}", document.line(written?.position));
                Some(set(written?.value.written(), place))
            });
            let found = found.or_else(|| Some(set(built_in?, "built into the program".to_owned())));
            found.filter(|found| !found.value.is_empty())
        };
        let url = (given.channel_url.as_ref(), "`--channel-url`");
        let url = first(url, section.url.as_ref(), "url", BUILT_IN_URL);
        let base = if let Some(Sourced { value, place }) = url {
            let folder = value.strip_suffix("/manifest.json").unwrap_or(&value);
            Sourced { value: folder.trim_end_matches('/').to_owned(), place }
        } else {
            let base = Settings::load(session)?.base_url;
            Sourced { value: format!("{}/downloads", base.value), place: base.place }
        };
        let key = (given.public_key.as_ref(), "`--public-key`");
        let key = first(key, section.public_key.as_ref(), "public_key", BUILT_IN_KEY);
        let key = key.map(|key| read(&key)).transpose()?;
        Ok(Self { base, key, config: path.display().to_string() })
    }

    pub(crate) fn key(&self) -> Result<&Sourced<PublicKey>> {
        self.key.as_ref().ok_or_else(|| {
            Diagnostic::configuration("no signing key for updates is configured")
                .hint("get the public key from the publisher, but not from the download server")
                .hint(format!("add it to {}: `update: {{public_key: …}}`", self.config))
        })
    }
}

fn read(key: &Sourced<String>) -> Result<Sourced<PublicKey>> {
    let value = read_public_key(&key.value).ok_or_else(|| {
        let message = format!("invalid public key `{}`", printable(&key.value));
        Diagnostic::configuration(message)
            .hint(format!("check the key: {}", key.place))
            .hint("a key is 32 bytes in base64, as `agent gateway downloads key` prints it")
    })?;
    Ok(Sourced { value, place: key.place.clone() })
}

#[cfg(test)]
mod tests;
