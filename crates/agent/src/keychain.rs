//! The keychain of the operating system: Secret Service on Linux, Keychain on macOS.
//!
//! A secret is stored under the path of the file that would hold it otherwise, so that
//! profiles and homes have separate secrets.

use std::io;
use std::path::Path;

use mcp_client::host::SecretStore;

const SERVICE: &str = "agent";

/// Whether the system may ask the person to unlock the keychain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnlockDialog {
    /// The caller waits for the answer.
    Allowed,
    Never,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Keychain(pub(crate) UnlockDialog);

impl SecretStore for Keychain {
    fn read(&self, path: &Path) -> io::Result<Option<String>> {
        let Some(secret) = system::read(*self, &path.to_string_lossy())? else { return Ok(None) };
        let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "the secret is not UTF-8");
        String::from_utf8(secret).map(Some).map_err(not_text)
    }

    fn write(&self, path: &Path, secret: &str) -> io::Result<()> {
        system::write(*self, &path.to_string_lossy(), secret.as_bytes())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        system::remove(*self, &path.to_string_lossy())
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::HashMap;
    use std::io;

    use dbus_secret_service::{EncryptionType, Error, Item, SecretService};

    use super::{Keychain, SERVICE, UnlockDialog};

    const MAX_DIALOG_SECONDS: u64 = 60;

    /// Secrets are sent unencrypted: only this user can read the session bus.
    fn connect(keychain: Keychain) -> io::Result<SecretService> {
        let seconds = if keychain.0 == UnlockDialog::Allowed { MAX_DIALOG_SECONDS } else { 0 };
        SecretService::connect_with_max_prompt_timeout(EncryptionType::Plain, seconds)
            .map_err(|error| failure(&error))
    }

    fn attributes(account: &str) -> HashMap<&str, &str> {
        HashMap::from([("service", SERVICE), ("account", account)])
    }

    fn with_item<T>(
        keychain: Keychain,
        account: &str,
        work: impl FnOnce(&Item<'_>) -> Result<T, Error>,
    ) -> io::Result<Option<T>> {
        let service = connect(keychain)?;
        let done = || {
            let found = service.search_items(attributes(account))?;
            let Some(item) = found.unlocked.first().or(found.locked.first()) else {
                return Ok(None);
            };
            item.ensure_unlocked()?;
            work(item).map(Some)
        };
        done().map_err(|error| failure(&error))
    }

    #[expect(clippy::redundant_closure_for_method_calls, reason = "an item borrows its service")]
    pub(super) fn read(keychain: Keychain, account: &str) -> io::Result<Option<Vec<u8>>> {
        with_item(keychain, account, |item| item.get_secret())
    }

    pub(super) fn write(keychain: Keychain, account: &str, secret: &[u8]) -> io::Result<()> {
        let service = connect(keychain)?;
        let done = || {
            let collection = service.get_default_collection()?;
            collection.ensure_unlocked()?;
            let label = format!("{SERVICE}: {account}");
            collection.create_item(&label, attributes(account), secret, true, "text/plain")?;
            Ok(())
        };
        done().map_err(|error| failure(&error))
    }

    #[expect(clippy::redundant_closure_for_method_calls, reason = "an item borrows its service")]
    pub(super) fn remove(keychain: Keychain, account: &str) -> io::Result<()> {
        with_item(keychain, account, |item| item.delete()).map(drop)
    }

    fn failure(error: &Error) -> io::Error {
        io::Error::other(match error {
            Error::Locked | Error::Prompt => "it is locked".to_owned(),
            Error::NoResult => "it has no default keyring".to_owned(),
            Error::Unavailable => "there is no Secret Service on the session bus".to_owned(),
            Error::Dbus(error) => {
                let message = error.message().unwrap_or_default();
                format!("there is no Secret Service on the session bus ({message})")
            }
            other => other.to_string(),
        })
    }
}

#[cfg(target_os = "macos")]
mod system {
    use std::io;

    use security_framework::base::{Error, Result};
    use security_framework::passwords::{
        delete_generic_password, get_generic_password, set_generic_password,
    };

    use super::{Keychain, SERVICE};

    /// `errSecItemNotFound`.
    const NOT_FOUND: i32 = -25300;

    fn found<T>(done: Result<T>) -> io::Result<Option<T>> {
        match done {
            Err(error) if error.code() == NOT_FOUND => Ok(None),
            done => done.map(Some).map_err(|error| failure(&error)),
        }
    }

    // The system itself asks the person, if possible.
    pub(super) fn read(_: Keychain, account: &str) -> io::Result<Option<Vec<u8>>> {
        found(get_generic_password(SERVICE, account))
    }

    pub(super) fn write(_: Keychain, account: &str, secret: &[u8]) -> io::Result<()> {
        set_generic_password(SERVICE, account, secret).map_err(|error| failure(&error))
    }

    pub(super) fn remove(_: Keychain, account: &str) -> io::Result<()> {
        found(delete_generic_password(SERVICE, account)).map(drop)
    }

    fn failure(error: &Error) -> io::Error {
        io::Error::other(error.to_string())
    }
}
