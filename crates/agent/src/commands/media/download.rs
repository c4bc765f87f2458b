//! `agent media download`: downloads and verifies artifacts.

mod item;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use self::item::Item;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::{Destination, DownloadOutcome, DownloadRequest, OnConflict, download};
use crate::member::Member;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Table, grouped};

/// Readable by the owner only.
const MODE: u32 = 0o600;
const MAX_IDS: usize = 256;

/// Download files and verify their size and digest
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Run the command again to resume an interrupted download. Identical files are not downloaded again.

Examples:
  agent media download run_0123456789abcdef0123456789abcdef
  agent media download art_0123456789abcdef0123456789abcdef --output cat.png
  agent media download run_… run_… --output pictures/")]
pub(crate) struct Args {
    /// Ids of runs or of single artifacts
    #[arg(required = true, value_name = "RUN_ID|ARTIFACT_ID")]
    ids: Vec<String>,
    /// Folder, or file name of a single file [default: the current folder]
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    if args.ids.len() > MAX_IDS {
        return Err(Diagnostic::usage(format!("at most {MAX_IDS} ids are allowed")));
    }
    let ids = args.ids.iter().map(|id| item::read(id)).collect::<Result<Vec<_>, _>>()?;
    let member = Member::find(session)?;
    let mut saved = Vec::new();
    let done = block_on(async {
        let mut items = Vec::new();
        for id in &ids {
            items.extend(item::find(&member, id).await?);
        }
        let places = target_paths(&items, args.output.as_deref())?;
        for (item, path) in items.iter().zip(places) {
            let existing = if args.force { OnConflict::Replace } else { OnConflict::Keep };
            let done = save(&member, item, &path, existing, session).await?;
            saved.push((item.clone(), path, done));
        }
        Ok(())
    });
    // Files that were saved before the failure are reported too.
    if done.is_ok() || !saved.is_empty() {
        report(&saved, session)?;
    }
    done
}

fn target_paths(items: &[Item], output: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(output) = output else {
        return Ok(items.iter().map(|item| PathBuf::from(&item.name)).collect());
    };
    let is_named_as_folder = output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let is_folder = output.is_dir() || items.len() != 1 || is_named_as_folder;
    if !is_folder {
        return Ok(vec![output.to_owned()]);
    }
    fs::create_dir_all(output).or_cannot("create the folder", output)?;
    Ok(items.iter().map(|item| output.join(&item.name)).collect())
}

async fn save(
    member: &Member,
    item: &Item,
    path: &Path,
    existing: OnConflict,
    session: &Session,
) -> Result<DownloadOutcome> {
    let target = member.client.address(&format!("/media/artifacts/{}", item.id));
    let target = target.map_err(|trouble| member.diagnostic(&trouble))?;
    let wanted = DownloadRequest { target, bytes: item.bytes, sha256: item.sha256 };
    let place = Destination { path, existing, mode: MODE };
    download(member, &wanted, &place, &item.id, session).await
}

fn report(saved: &[(Item, PathBuf, DownloadOutcome)], session: &Session) -> Result {
    let files = saved.iter().map(|(item, path, done)| {
        json!({
            "path": path.to_string_lossy(),
            "artifact": item.id,
            "run": item.run,
            "media_type": item.media_type,
            "bytes": item.bytes,
            "sha256": item.sha256.to_string(),
            "downloaded": *done == DownloadOutcome::Fetched,
        })
    });
    let mut table = Table::new(["file", "type", "bytes", "verified"]).align_right(&["bytes"]);
    for (item, path, done) in saved {
        let is_new = *done == DownloadOutcome::Fetched;
        let state = if is_new { "downloaded" } else { "was there" }.to_owned();
        let path = path.display().to_string();
        table.row([path, item.media_type.clone(), grouped(item.bytes), state]);
    }
    session.output.print(&json!({ "files": files.collect::<Vec<_>>() }), table.text())
}

#[cfg(test)]
mod tests;
