//! `agent gateway downloads`: files that everybody may download.

use std::path::PathBuf;

use clap::Subcommand;
use gateway::config::Downloads;
use gateway::downloads::{Publication, make_key, publish, show_key};
use gateway::rfc3339;
use serde_json::json;

use super::moment::now;
use super::operator_store::Context;
use crate::diagnostic::{Diagnostic, Result};
use crate::output::GOOD;

const VALID_DAYS: u16 = 90;
const DAY_MICROS: i64 = 86_400_000_000;

/// Sign and publish files for public download
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The service offers published files under /v1/downloads if gateway.yaml has a `downloads` section.

Examples:
  agent gateway downloads key
  agent gateway downloads publish --version 1.0.0 dist/*")]
pub(crate) enum Command {
    Key(Key),
    Publish(Publish),
}

pub(crate) fn run(command: &Command, context: Context<'_>) -> Result {
    let downloads = context.load()?.downloads.ok_or_else(|| {
        Diagnostic::configuration("downloads are not configured")
            .hint("add `downloads: {}` to the configuration of the service")
    })?;
    match command {
        Command::Key(args) => key(args, &downloads, context),
        Command::Publish(args) => publish_files(args, &downloads, context),
    }
}

/// Create the signing key for downloads
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The private key is written to `downloads.key_file`, readable only by its owner; keep a copy in a \
safe place. Clients verify downloads with the public key.

Examples:
  agent gateway downloads key
  agent gateway downloads key --show")]
pub(crate) struct Key {
    /// Print the public key of the existing signing key
    #[arg(long)]
    show: bool,
}

fn key(args: &Key, downloads: &Downloads, context: Context<'_>) -> Result {
    let path = &downloads.key_file;
    let public = if args.show { show_key(path)? } else { make_key(path)? };
    context.output.print(
        &json!({ "file": path.to_string_lossy(), "public_key": public }),
        format!("{public}\n"),
    )
}

/// Publish the files of a version with a signed manifest
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Clients see either the previous files or all new ones. Published files of a version never \
change; more files can be added.

`agent update` rejects an expired manifest. Run the command without files to renew it.

Examples:
  agent gateway downloads publish --version 1.0.0 dist/agent-linux-x86_64
  agent gateway downloads publish --version 1.0.0")]
pub(crate) struct Publish {
    /// Version of the files
    #[arg(long)]
    version: String,
    /// Platform, for example linux-x86_64 [default: from the file names]
    #[arg(long)]
    platform: Option<String>,
    /// Days until the manifest expires
    #[arg(long, value_name = "DAYS", default_value_t = VALID_DAYS,
          value_parser = clap::value_parser!(u16).range(1..=3650))]
    valid_days: u16,
    /// Files to publish; without files, sign the published manifest again
    files: Vec<PathBuf>,
}

fn publish_files(args: &Publish, downloads: &Downloads, context: Context<'_>) -> Result {
    let now = now(&context);
    let publication = Publication {
        version: args.version.clone(),
        published_at: rfc3339(now),
        expires_at: rfc3339(now.plus_micros(i64::from(args.valid_days) * DAY_MICROS)),
        files: args.files.clone(),
        platform: args.platform.clone(),
    };
    let manifest = publish(downloads, &publication)?;
    let mut text = format!(
        "{GOOD}Published{GOOD:#} {}, valid until {}:\n",
        manifest.version, manifest.expires_at
    );
    for file in &manifest.files {
        text += &format!("  {}  {}  {} bytes\n", file.name, file.platform, file.bytes);
    }
    context.output.print(&json!(manifest), text)
}
