//! Installs the Debian package in a system that has nothing but Debian's base.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Context, Outcome, service};
use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::workspace::create_empty;

/// From the start of the installation to the end of a streamed answer.
const MAX_FIRST_ANSWER: Duration = Duration::from_mins(1);

/// What the package must have set up; run as root in the new system.
const INSPECT: &str = "\
set -e
test \"$(stat -c '%U %a' /var/lib/agent-gateway)\" = 'agent-gateway 700'
grep -q /etc/agent/gateway.yaml /var/lib/dpkg/info/agent.conffiles
test -f /usr/lib/systemd/system/agent-gateway.service
test -f /usr/share/man/man1/agent.1
export AGENT_HOME=/var/lib/agent-gateway AGENT_GATEWAY_CONFIG=/etc/agent/gateway.yaml
runuser -u agent-gateway -- agent gateway migrate
runuser -u agent-gateway -- agent gateway check --offline";

/// The service keeps its data after a purge, and nothing else remains.
const REMOVE: &str = "\
set -e
dpkg --purge agent
test ! -e /usr/bin/agent
test ! -e /etc/agent
test -e /var/lib/agent-gateway/gateway.sqlite3";

pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    if process::capture(Command::new("id").arg("-u"))?.trim() != "0" {
        return Ok(Outcome::NotRun("only root can use chroot".to_owned()));
    }
    let base = match base_archive(context) {
        Ok(base) => base,
        Err(failure) => return Ok(Outcome::NotRun(format!("no Debian base: {failure}"))),
    };
    let root = context.scratch.join("root");
    create_empty(&root)?;
    process::capture(Command::new("tar").arg("-xf").arg(base).arg("-C").arg(&root))?;
    let copied = fs::copy(context.artifact(".deb")?, root.join("tmp/agent.deb"));
    copied.or_fail("cannot copy the package")?;
    // `agent up` downloads a model with pip, which the base system lacks.
    context.add_model(&root.join("root/.agent/models"))?;

    let started = Instant::now();
    process::capture(inside(&root).args(["dpkg", "--install", "/tmp/agent.deb"]))?;
    let version = context.expect_version(inside(&root).args(["agent", "--version"]))?;
    let mut agent = inside(&root);
    agent.arg("agent");
    let answer =
        service::stream_from(agent, &root.join("root/.agent"), &context.scratch, &|| Ok(()))?;
    let elapsed = started.elapsed();
    if elapsed > MAX_FIRST_ANSWER {
        return Err(Failure::work(format!("the first answer took {} s", elapsed.as_secs())));
    }
    process::capture(inside(&root).args(["sh", "-c", INSPECT]))?;
    process::capture(inside(&root).args(["sh", "-c", REMOVE]))?;
    Ok(Outcome::Passed(format!(
        "dpkg --install in a Debian base system; agent --version: {version}; agent up with a model file: {answer}; \
         {:.1} s from installation to answer; gateway check; dpkg --purge",
        elapsed.as_secs_f64()
    )))
}

/// A command in the system at `root`, which has its own processes and ends with them.
fn inside(root: &Path) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(format!("--root={}", root.display()))
        .args(["--wd=/", "--"])
        .env_clear()
        .envs([("HOME", "/root"), ("DEBIAN_FRONTEND", "noninteractive"), ("LC_ALL", "C.UTF-8")])
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// An archive of the smallest Debian system, of this machine's release; made once.
fn base_archive(context: &Context<'_>) -> Result<PathBuf> {
    let folder = context.peers.folder("debian");
    let archive = folder.join("base.tar");
    if archive.exists() {
        return Ok(archive);
    }
    let release = ". /etc/os-release; test \"$ID\" = debian; echo \"$VERSION_CODENAME\"";
    let release = process::capture(Command::new("sh").args(["-ec", release]))?;
    let failed = format!("cannot write {}", archive.display());
    fs::create_dir_all(&folder).or_fail(&failed)?;
    let new = folder.join("base.new.tar");
    let mut mmdebstrap = Command::new("mmdebstrap");
    process::capture(mmdebstrap.args(["--quiet", "--variant=minbase", release.trim()]).arg(&new))?;
    fs::rename(&new, &archive).or_fail(&failed)?;
    Ok(archive)
}
