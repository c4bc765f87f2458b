//! The installed PostgreSQL, the user it runs as, and the data folder that every cluster copies.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::mcp::installed::private_folder;

/// Debian's directory of PostgreSQL releases.
const RELEASES: &str = "/usr/lib/postgresql";

/// The user that Debian's package creates. PostgreSQL refuses to run as root.
const ACCOUNT: &str = "postgres";

pub(super) const DATA: &str = "data";

#[derive(Debug)]
pub(super) struct Programs {
    bin: PathBuf,
    run_by: ServerUser,
    pub(super) environment: Vec<(&'static str, PathBuf)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerUser {
    /// The user that runs the tests.
    Ourselves,
    /// The tests run as root.
    Account { user: u32, group: u32 },
}

impl Programs {
    /// The newest release that has a server.
    pub(super) fn find() -> Self {
        let folders = fs::read_dir(RELEASES).into_iter().flatten().flatten();
        let servers = folders.map(|folder| folder.path().join("bin"));
        let newest = servers
            .filter(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file())
            .max_by_key(|bin| release(bin));
        let bin = newest.expect("PostgreSQL is installed: run `cargo xtask test` once");
        Self { bin, run_by: ServerUser::choose(), environment: Vec::new() }
    }

    pub(super) fn psql(&self) -> PathBuf {
        self.bin.join("psql")
    }

    pub(super) fn release(&self) -> u32 {
        release(&self.bin)
    }

    pub(super) fn command(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = match self.run_by {
            ServerUser::Ourselves => Command::new(program),
            ServerUser::Account { user, group } => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={group}"));
                command.args(["--clear-groups", "--"]).arg(program);
                command
            }
        };
        // The server's user may have no access to the working directory of the tests.
        command.current_dir("/").env_clear().env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A temporary folder of the server's user. Its name is short because socket paths are limited.
    pub(super) fn private_folder(&self, parent: &Path) -> TempDir {
        let folder = tempfile::Builder::new().prefix("pg-").tempdir_in(parent);
        let folder = folder.expect("a temporary folder");
        self.run_by.give(folder.path()).expect("a folder of root's can be given away");
        folder
    }

    /// Data folders depend on the release and on the user.
    fn kind_of_data(&self) -> String {
        let output = Command::new(self.bin.join("postgres")).arg("--version").output();
        let output = output.expect("postgres starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = said.split_whitespace().nth(2).unwrap_or("unknown").to_owned();
        match self.run_by {
            ServerUser::Ourselves => format!("postgres-{version}"),
            ServerUser::Account { .. } => format!("postgres-{version}-{ACCOUNT}"),
        }
    }
}

impl ServerUser {
    fn choose() -> Self {
        let ours = fs::metadata("/proc/self").expect("/proc is there").uid();
        if ours != 0 {
            return Self::Ourselves;
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        account(&accounts, ACCOUNT).expect("the package of PostgreSQL made its user")
    }

    fn give(self, folder: &Path) -> io::Result<()> {
        match self {
            Self::Ourselves => Ok(()),
            Self::Account { user, group } => chown(folder, Some(user), Some(group)),
        }
    }
}

/// Finds a name in the contents of `/etc/passwd`.
fn account(accounts: &str, name: &str) -> Option<ServerUser> {
    let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2).map(str::parse);
    match (fields.next(), fields.next()) {
        (Some(Ok(user)), Some(Ok(group))) => Some(ServerUser::Account { user, group }),
        _ => None,
    }
}

fn release(bin: &Path) -> u32 {
    let name = bin.parent().and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().parse().unwrap_or(0)
}

pub(super) fn copy_into(programs: &Programs, folder: &Path) {
    copy(&template(programs), &folder.join(DATA));
}

pub(super) fn copy_from_running(programs: &Programs, primary: &Path, folder: &Path) {
    let mut copy = programs.command("pg_basebackup");
    copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username=postgres"]);
    must_succeed(copy.arg("-h").arg(primary).arg("-D").arg(folder.join(DATA)));
}

/// The data folder that all others are copied from, created by the first caller while others wait.
fn template(programs: &Programs) -> PathBuf {
    let template = private_folder(&programs.kind_of_data());
    if template.is_dir() {
        return template;
    }
    let peers = private_folder("");
    fs::create_dir_all(&peers).expect("the folder of the peers");
    let lock = File::create(peers.join("postgres.lock")).expect("a lock file");
    lock.lock().expect("the lock can be taken");
    if !template.is_dir() {
        make(programs, &template);
    }
    template
}

/// Creates it where the server's user may write, then renames it into place.
fn make(programs: &Programs, template: &Path) {
    let workshop = programs.private_folder(&std::env::temp_dir());
    let fresh = workshop.path().join(DATA);
    let mut initdb = programs.command("initdb");
    initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale"]);
    must_succeed(initdb.arg("--no-sync").arg("-D").arg(&fresh));
    let beside = tempfile::Builder::new().prefix("postgres-").tempdir_in(private_folder(""));
    let beside = beside.expect("a folder beside the template");
    copy(&fresh, &beside.path().join(DATA));
    fs::rename(beside.path().join(DATA), template).expect("the template can be put in place");
}

/// Keeps owners and modes, which the server requires.
fn copy(from: &Path, to: &Path) {
    must_succeed(Command::new("cp").arg("-a").arg(from).arg(to));
}

fn must_succeed(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

#[cfg(test)]
mod tests;
