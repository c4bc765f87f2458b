//! The keyring of GNOME on a separate session bus.

use std::process::Command;

use tempfile::TempDir;

use crate::mcp::ServerCommand;
use crate::mcp::installed::script;
use crate::oauth::Process;

/// A Secret Service with one keyring, `login`, which is unlocked at first. It cannot ask anybody to
/// unlock it.
#[derive(Debug)]
pub struct Keyring {
    process: Process,
    _folder: TempDir,
}

impl Keyring {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_string_lossy();
        let launch = ServerCommand::new("sh", &[&script("keyring.sh"), &path]);
        Self { process: Process::start(&launch), _folder: folder }
    }

    /// The value of `DBUS_SESSION_BUS_ADDRESS`.
    pub fn bus(&self) -> &str {
        self.process.address("bus")
    }

    pub fn lock(&self) {
        self.call("Lock", "array:objpath:/org/freedesktop/secrets/collection/login");
    }

    /// The number of the program's secrets in it.
    pub fn secrets(&self) -> usize {
        self.call("SearchItems", "dict:string:string:service,agent").matches("object path").count()
    }

    fn call(&self, method: &str, argument: &str) -> String {
        let output = Command::new("dbus-send")
            .args(["--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"])
            .args([&format!("org.freedesktop.Secret.Service.{method}"), argument])
            .env("DBUS_SESSION_BUS_ADDRESS", self.bus())
            .output()
            .expect("dbus-send is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
