//! Stored grants, in files that only their owner can read.
//!
//! Each server has its files: `<server>.json` holds tokens, `.client.json` client registrations by
//! issuer, `.meta.json` the discovered metadata, `.cimd-off` marks a refused client document, and
//! `.lock` serializes renewals. Files are replaced atomically.

mod private_file;
pub mod token_files;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::private_file::PrivateFile;
pub(crate) use self::private_file::{RenewalLock, ReservedFile};
use super::discovery::Discovery;
use super::registration::Registration;
use crate::error::oauth::Error;

const VERSION: u64 = 1;
const MAX_ISSUERS: usize = 8;
/// The longest server name that is used as a file name without a hash.
const MAX_PLAIN_STEM: usize = 64;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredTokens {
    pub(crate) access_token: String,
    #[serde(default = "bearer")]
    pub(crate) token_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested_scope: Option<String>,
    /// Unix seconds; `None` if the server did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    #[serde(default)]
    pub(crate) obtained_at: u64,
    #[serde(default)]
    pub(crate) issuer: String,
    #[serde(default)]
    pub(crate) client_id: String,
    #[serde(default)]
    pub(crate) resource: String,
    /// The `DPoP` key it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Identifies the login; all renewals share it.
    #[serde(default)]
    pub(crate) login: String,
    /// How often they were renewed since.
    #[serde(default)]
    pub(crate) renewals: u64,
}

impl StoredTokens {
    /// Whether to use these instead of others: another login, or a later renewal.
    pub(crate) fn replace(&self, others: &Self) -> bool {
        let differ =
            self.access_token != others.access_token || self.refresh_token != others.refresh_token;
        self.login != others.login || (differ && !self.is_behind(others))
    }

    /// Whether others are later renewals of the same login: a file is behind if the last pair could
    /// not be written.
    pub(crate) fn is_behind(&self, others: &Self) -> bool {
        self.login == others.login && self.renewals < others.renewals
    }
}

fn bearer() -> String {
    "Bearer".to_owned()
}

impl fmt::Debug for StoredTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("issuer", &self.issuer)
            .field("scope", &self.scope)
            .field("expires_at", &self.expires_at)
            .field("refreshable", &self.refresh_token.is_some())
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownClients {
    /// By issuer.
    #[serde(default)]
    pub(crate) registrations: BTreeMap<String, Registration>,
    /// The issuer of each configured client id.
    #[serde(default)]
    pub(crate) configured: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub(crate) struct UnreadableFile {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

#[derive(Debug, Clone)]
pub(crate) struct TokenStore {
    folder: PathBuf,
    stem: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreFile {
    Tokens,
    Clients,
    Metadata,
    Refused,
    Lock,
}

impl StoreFile {
    fn suffix(self) -> &'static str {
        match self {
            Self::Tokens => ".json",
            Self::Clients => ".client.json",
            Self::Metadata => ".meta.json",
            Self::Refused => ".cimd-off",
            Self::Lock => ".lock",
        }
    }
}

/// Changes whenever the file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl TokenStore {
    pub(crate) fn new(folder: &Path, server: &str) -> Self {
        Self { folder: folder.to_owned(), stem: file_stem(server) }
    }

    pub(crate) fn tokens(&self) -> Result<Option<StoredTokens>, UnreadableFile> {
        self.load(StoreFile::Tokens)
    }

    pub(crate) fn save_tokens(&self, tokens: &StoredTokens) -> Result<(), Error> {
        self.save(StoreFile::Tokens, tokens)
    }

    /// Reserves disk space for new tokens before the old ones are spent. The caller holds the lock.
    pub(crate) fn reserve_tokens(&self) -> Result<ReservedFile, Error> {
        let place = self.place(StoreFile::Tokens);
        place.sweep();
        ReservedFile::make(&place).map_err(|source| place.cannot_be("written", source))
    }

    pub(crate) fn save_reserved(
        &self,
        room: ReservedFile,
        tokens: &StoredTokens,
    ) -> Result<(), Error> {
        let place = self.place(StoreFile::Tokens);
        room.fill(&to_json_text(tokens)).map_err(|source| place.cannot_be("written", source))
    }

    pub(crate) fn back_up_tokens(&self) {
        self.place(StoreFile::Tokens).back_up();
    }

    pub(crate) fn clear_tokens(&self) -> Result<(), Error> {
        remove(self.path(StoreFile::Tokens))
    }

    pub(crate) fn stamp(&self) -> Option<FileStamp> {
        let found = std::fs::metadata(self.path(StoreFile::Tokens)).ok()?;
        let inode = std::os::unix::fs::MetadataExt::ino(&found);
        Some(FileStamp { modified: found.modified().ok(), length: found.len(), inode })
    }

    /// The known clients; an unreadable file counts as empty.
    pub(crate) fn clients(&self) -> KnownClients {
        self.load(StoreFile::Clients).ok().flatten().unwrap_or_default()
    }

    pub(crate) fn change_clients(
        &self,
        change: impl FnOnce(&mut KnownClients),
    ) -> Result<(), Error> {
        let mut clients = self.clients();
        change(&mut clients);
        while clients.registrations.len() > MAX_ISSUERS {
            clients.registrations.pop_first();
        }
        self.save(StoreFile::Clients, &clients)
    }

    pub(crate) fn metadata(&self) -> Option<Discovery> {
        let kept: Value = self.load(StoreFile::Metadata).ok().flatten()?;
        Discovery::read(&kept)
    }

    pub(crate) fn save_metadata(&self, found: &Discovery) -> Result<(), Error> {
        self.save(StoreFile::Metadata, &found.to_json())
    }

    pub(crate) fn has_refused_document(&self) -> bool {
        self.path(StoreFile::Refused).exists()
    }

    pub(crate) fn mark_document_refused(&self) -> Result<(), Error> {
        let place = self.place(StoreFile::Refused);
        place.write(b"").map_err(|source| place.cannot_be("written", source))
    }

    pub(crate) fn clear_refused_document(&self) -> Result<(), Error> {
        remove(self.path(StoreFile::Refused))
    }

    /// Deletes all files of the server. The caller holds the lock.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        self.place(StoreFile::Tokens).sweep();
        // Backups of damaged files may hold tokens too.
        token_files::files(&self.folder, &self.stem).into_iter().try_for_each(remove)
    }

    pub(crate) fn has_files(&self) -> bool {
        !token_files::files(&self.folder, &self.stem).is_empty()
    }

    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    pub(crate) async fn lock(&self) -> Result<RenewalLock, Error> {
        RenewalLock::take(&self.place(StoreFile::Lock)).await
    }

    pub(crate) fn tokens_path(&self) -> PathBuf {
        self.path(StoreFile::Tokens)
    }

    fn path(&self, part: StoreFile) -> PathBuf {
        self.folder.join(format!("{}{}", self.stem, part.suffix()))
    }

    fn place(&self, part: StoreFile) -> PrivateFile {
        PrivateFile { folder: self.folder.clone(), path: self.path(part) }
    }

    fn load<T: serde::de::DeserializeOwned>(
        &self,
        part: StoreFile,
    ) -> Result<Option<T>, UnreadableFile> {
        let place = self.place(part);
        let unreadable = |reason: String| UnreadableFile { path: place.path.clone(), reason };
        let bytes = match place.read() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
        };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| unreadable("is corrupt: invalid JSON".to_owned()))?;
        // Files without a version are of version 1.
        let version = value.get("version").map_or(Some(VERSION), Value::as_u64);
        if version != Some(VERSION) {
            let reason = "was written by another version of this program".to_owned();
            return Err(unreadable(reason));
        }
        // The value is not quoted: it may be a secret.
        let read = serde_json::from_value(value);
        read.map(Some).map_err(|_| unreadable("is corrupt: a key is missing or invalid".to_owned()))
    }

    fn save<T>(&self, part: StoreFile, value: &T) -> Result<(), Error>
    where
        T: Serialize + serde::de::DeserializeOwned,
    {
        let place = self.place(part);
        // An unreadable file is backed up, never overwritten.
        if matches!(part, StoreFile::Tokens | StoreFile::Clients) && self.load::<T>(part).is_err() {
            place.back_up();
        }
        place.write(&to_json_text(value)).map_err(|source| place.cannot_be("written", source))
    }
}

fn remove(path: PathBuf) -> Result<(), Error> {
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::Store { path, what: "cannot remove", source: error })
        }
        _ => Ok(()),
    }
}

fn to_json_text(value: &impl Serialize) -> Vec<u8> {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("version".to_owned(), VERSION.into());
    }
    let mut text = serde_json::to_vec_pretty(&value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The prefix of a server's file names. Names that collide with suffixes, or that some file system
/// rejects, get a hash, so that two servers never share files.
fn file_stem(server: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let taken = [".client", ".meta", ".json", ".lock", ".bak", ".cimd-off"];
    let lower = server.to_ascii_lowercase();
    let folds_case = cfg!(target_os = "macos") && lower != server;
    let is_safe = !server.is_empty()
        && server.len() <= MAX_PLAIN_STEM
        && server.bytes().all(plain)
        && !server.starts_with('.')
        && !server.ends_with('.')
        && !taken.iter().any(|end| lower.ends_with(end))
        && !folds_case;
    if is_safe {
        return server.to_owned();
    }
    let readable: String = server
        .chars()
        .take(MAX_PLAIN_STEM)
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .collect();
    let hash = Sha256::digest(server);
    let eight = hash.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    format!("{readable}~{eight:016x}")
}

#[cfg(test)]
mod tests;
