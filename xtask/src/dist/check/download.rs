//! Serves the signed artifacts on a loopback port, for `agent update` and `install.sh`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::service::{free_port, wait_until_ready};
use super::{Context, Outcome};
use crate::dist::{channel, read, write};
use crate::failure::{Failure, OrFail, Result};
use crate::process::{self, Running};

/// A key that nothing here is signed with.
const OTHER_KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    let (public_key, url, _server) = serve_signed(context)?;
    check_update(context, &url, &public_key)?;
    let version = check_install(context, &url)?;
    check_damage(context, &url)?;
    Ok(Outcome::Passed(format!(
        "agent update --check: accepted with our key, rejected with another; sh install.sh; \
         agent --version: {version}; install.sh rejects a damaged archive"
    )))
}

fn check_update(context: &Context<'_>, url: &str, public_key: &str) -> Result {
    let update = |key: &str| {
        let mut command = Command::new(&context.release.binary.path);
        command.args(["update", "--check", "--json", "--channel-url", url, "--public-key", key]);
        process::capture(command.env("AGENT_HOME", &context.scratch))
    };
    let printed = update(public_key)?;
    if !printed.contains(&format!("\"{}\"", context.release.version)) {
        return Err(Failure::work(format!("`agent update --check` printed {printed}")));
    }
    match update(OTHER_KEY) {
        Ok(_) => Err(Failure::work("`agent update --check` accepted another key")),
        Err(_) => Ok(()),
    }
}

fn check_install(context: &Context<'_>, url: &str) -> Result<String> {
    let prefix = context.scratch.join("prefix");
    install(context, url, &prefix)?;
    read(&prefix.join("share/man/man1/agent.1"))?;
    context.expect_version(Command::new(prefix.join("bin/agent")).arg("--version"))
}

fn check_damage(context: &Context<'_>, url: &str) -> Result {
    let name = format!("{}.tar.gz", context.release.stem());
    let archive = context.scratch.join("channel").join(&context.release.version).join(name);
    let mut bytes = read(&archive)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    write(&archive, &bytes)?;
    let prefix = context.scratch.join("damaged");
    match install(context, url, &prefix) {
        Err(failure) if failure.to_string().contains("instead of") && !prefix.exists() => Ok(()),
        Err(failure) => Err(Failure::work(format!("a damaged archive: {failure}"))),
        Ok(_) => Err(Failure::work("install.sh installed a damaged archive")),
    }
}

fn install(context: &Context<'_>, url: &str, prefix: &Path) -> Result<String> {
    let mut command = Command::new("sh");
    command.arg(context.release.root.join("install.sh")).args(["--base", url]);
    process::capture(command.arg("--prefix").arg(prefix))
}

/// Signs the artifacts with a new key and serves them; returns the public key and the URL too.
fn serve_signed(context: &Context<'_>) -> Result<(String, String, Running)> {
    let key = context.scratch.join("key.pem");
    let public_key = channel::make_key(context.release, &key)?;
    let folder = context.scratch.join("channel");
    channel::publish(context.release, &context.packages, &key, &folder)?;
    let _ = fs::remove_file(&key);
    let port = free_port()?;
    let mut command = Command::new("python3");
    command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = Running(command.spawn().or_fail("cannot run python3")?);
    wait_until_ready(port, &mut process.0)?;
    Ok((public_key, format!("http://127.0.0.1:{port}"), process))
}
