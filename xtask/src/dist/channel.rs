//! The signed manifest, published by the command of the program that operators use.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::release::Release;
use super::{sorted_files, write};
use crate::failure::{OrFail, Result};
use crate::process;
use crate::workspace::create_empty;

/// Publishes all artifacts into a folder that `agent update` and `install.sh` read. The folder can
/// be served by any web server, or be `downloads.folder` of a member service.
pub(super) fn publish(release: &Release, packages: &Path, key: &Path, channel: &Path) -> Result {
    create_empty(channel)?;
    let files = sorted_files(packages)?;
    gateway_downloads(release, key, channel, |command| {
        command.args(["publish", "--version", &release.version]).args(&files);
    })
    .map(drop)
}

/// Creates a key and returns its public part.
pub(super) fn make_key(release: &Release, key: &Path) -> Result<String> {
    let folder = key.parent().unwrap_or(key);
    let public = gateway_downloads(release, key, folder, |command| {
        command.arg("key");
    })?;
    Ok(public.trim().to_owned())
}

fn gateway_downloads(
    release: &Release,
    key: &Path,
    channel: &Path,
    arguments: impl FnOnce(&mut Command),
) -> Result<String> {
    let failed = "cannot configure the manifest";
    let home = tempfile::tempdir().or_fail(failed)?;
    // JSON is YAML too, and quotes the paths.
    let key = std::path::absolute(key).or_fail(failed)?;
    let configuration = json!({ "downloads": { "folder": channel, "key_file": key } });
    let file = home.path().join("gateway.yaml");
    write(&file, configuration.to_string().as_bytes())?;
    let mut command = Command::new(&release.binary.path);
    command.args(["gateway", "downloads"]);
    arguments(&mut command);
    command.arg("--config").arg(&file).env("AGENT_HOME", home.path());
    process::capture(&mut command)
}
