//! The secret for the hashes of keys: configured, or in a file that is created when it is missing.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use gateway_store::Store;
use ring::rand::{SecureRandom, SystemRandom};
use tempfile::NamedTempFile;
use wire::key::{ApiKey, RANDOM_BYTES};

use crate::config::KeySecret;
use crate::identity::{KeyHasher, hex};
use crate::problem::Problem;

const LENGTH: usize = 32;
const MAX_FILE_BYTES: u64 = 4096;
const FINGERPRINT: &str = "key_secret_fingerprint";

/// Attempts to draw a key: one in millions fails.
const MAX_DRAWS: usize = 16;

/// Draws a new key; `None` if the machine returns no random bytes.
pub fn draw() -> Option<ApiKey> {
    let random = SystemRandom::new();
    (0..MAX_DRAWS).find_map(|_| {
        let mut bytes = [0; RANDOM_BYTES];
        random.fill(&mut bytes).ok()?;
        ApiKey::from_random(&bytes)
    })
}

/// Loads the configured secret, and creates it if it is missing.
pub fn load(secret: &KeySecret) -> Result<KeyHasher, Problem> {
    match secret {
        KeySecret::Given(secret) => Ok(KeyHasher::new(secret.reveal().as_bytes())),
        KeySecret::File(path) => {
            read_or_make(path).map(|text| KeyHasher::new(text.as_bytes())).map_err(|error| {
                Problem::new(format!("cannot use the key secret {}: {error}", path.display())).hint(
                    "the file is created if it is missing: make its folder writable, or set \
                       `key_secret`",
                )
            })
        }
    }
}

/// Rejects a secret that does not match the keys in the store: every key would be invalid.
pub async fn check(hasher: &KeyHasher, store: &Store) -> Result<(), Problem> {
    let ours = hasher.fingerprint();
    let kept = store
        .set_setting_once(FINGERPRINT, &ours)
        .await
        .map_err(|error| Problem::new(crate::failure::chain(&error)))?;
    if kept == ours {
        return Ok(());
    }
    Err(Problem::new("the key secret does not match the keys in this database")
        .hint("set `key_secret` to the previous value, or restore the file `gateway.secret`"))
}

fn read_or_make(path: &Path) -> io::Result<String> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path).or_else(|error| {
            // Another process may have created it first.
            if error.kind() == io::ErrorKind::AlreadyExists { read(path) } else { Err(error) }
        }),
        result => result,
    }
}

fn read(path: &Path) -> io::Result<String> {
    let length = fs::metadata(path)?.len();
    if length > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long"));
    }
    let text = fs::read_to_string(path)?.trim().to_owned();
    if text.len() < LENGTH {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too short"));
    }
    Ok(text)
}

/// Writes a new secret to a temporary file first, so that readers never see half of it.
fn create(path: &Path) -> io::Result<String> {
    let mut bytes = [0; LENGTH];
    let no_random = |_| io::Error::other("the system returned no random bytes");
    SystemRandom::new().fill(&mut bytes).map_err(no_random)?;
    let text: String = hex(&bytes);
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    writeln!(file, "{text}")?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
