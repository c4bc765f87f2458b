//! Stored grants, in files that only their owner can read, or in the keychain.
//!
//! Each server has its files: `<server>.json` holds tokens, `.client.json` client registrations by
//! issuer, `.meta.json` the discovered metadata, `.cimd-off` marks a refused client document, and
//! `.lock` serializes renewals. Files are replaced atomically. If tokens or registrations are in the
//! keychain, their file is a reference to it, and is still replaced with every change.

mod private_file;
pub mod token_files;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::private_file::PrivateFile;
pub(crate) use self::private_file::{RenewalLock, ReservedFile};
use super::discovery::Discovery;
use super::registration::Registration;
use crate::error::oauth::{Error, Result};
use crate::host::{Host, SecretStore, TokenPlace};
use crate::tool_name::hex;

const VERSION: u64 = 1;
const MAX_ISSUERS: usize = 8;
/// Maximum length of a server name used as a file name without a hash.
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
    /// The number of renewals since the login.
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
    keychain: Option<Arc<dyn SecretStore>>,
    place: TokenPlace,
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

const SECRET_FILES: [StoreFile; 2] = [StoreFile::Tokens, StoreFile::Clients];

/// Changes whenever the file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl TokenStore {
    pub(crate) fn new(folder: &Path, server: &str, host: &Host) -> Self {
        Self::of_stem(folder, file_stem(server), host)
    }

    fn of_stem(folder: &Path, stem: String, host: &Host) -> Self {
        let (keychain, place) = (host.keychain.clone(), host.token_place);
        Self { folder: folder.to_owned(), stem, keychain, place }
    }

    pub(crate) fn tokens(&self) -> Result<Option<StoredTokens>, UnreadableFile> {
        self.load(StoreFile::Tokens)
    }

    pub(crate) fn save_tokens(&self, tokens: &StoredTokens) -> Result<()> {
        self.save(StoreFile::Tokens, tokens)
    }

    /// Reserves disk space for new tokens before the old ones are spent. The caller holds the lock.
    pub(crate) fn reserve_tokens(&self) -> Result<ReservedFile> {
        let place = self.private_file(StoreFile::Tokens);
        place.sweep();
        ReservedFile::make(&place).map_err(|source| place.error("cannot write", source))
    }

    pub(crate) fn save_reserved(&self, room: ReservedFile, tokens: &StoredTokens) -> Result<()> {
        self.put(StoreFile::Tokens, &to_json_text(tokens), |content| room.fill(content))
    }

    pub(crate) fn back_up_tokens(&self) {
        self.back_up_damaged::<StoredTokens>(StoreFile::Tokens);
    }

    pub(crate) fn clear_tokens(&self) -> Result<()> {
        self.remove_secret(StoreFile::Tokens)?;
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

    pub(crate) fn change_clients(&self, change: impl FnOnce(&mut KnownClients)) -> Result<()> {
        let mut clients = self.clients();
        change(&mut clients);
        while clients.registrations.len() > MAX_ISSUERS {
            clients.registrations.pop_first();
        }
        self.save(StoreFile::Clients, &clients)
    }

    pub(crate) fn metadata(&self) -> Option<Discovery> {
        self.load(StoreFile::Metadata).ok().flatten()
    }

    pub(crate) fn save_metadata(&self, found: &Discovery) -> Result<()> {
        self.save(StoreFile::Metadata, found)
    }

    pub(crate) fn has_refused_document(&self) -> bool {
        self.path(StoreFile::Refused).exists()
    }

    pub(crate) fn mark_document_refused(&self) -> Result<()> {
        let place = self.private_file(StoreFile::Refused);
        place.write(b"").map_err(|source| place.error("cannot write", source))
    }

    pub(crate) fn clear_refused_document(&self) -> Result<()> {
        remove(self.path(StoreFile::Refused))
    }

    /// Deletes all files of the server. The caller holds the lock.
    pub(crate) fn forget(&self) -> Result<()> {
        self.private_file(StoreFile::Tokens).sweep();
        SECRET_FILES.into_iter().try_for_each(|part| self.remove_secret(part))?;
        // Backups of damaged files may hold tokens too.
        token_files::files(&self.folder, &self.stem).into_iter().try_for_each(remove)
    }

    pub(crate) fn has_files(&self) -> bool {
        !token_files::files(&self.folder, &self.stem).is_empty()
    }

    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    pub(crate) async fn lock(&self) -> Result<RenewalLock> {
        RenewalLock::take(&self.private_file(StoreFile::Lock)).await
    }

    pub(crate) fn tokens_path(&self) -> PathBuf {
        self.path(StoreFile::Tokens)
    }

    fn path(&self, part: StoreFile) -> PathBuf {
        self.folder.join(format!("{}{}", self.stem, part.suffix()))
    }

    fn private_file(&self, part: StoreFile) -> PrivateFile {
        PrivateFile { path: self.path(part) }
    }

    fn load<T: serde::de::DeserializeOwned>(
        &self,
        part: StoreFile,
    ) -> Result<Option<T>, UnreadableFile> {
        let place = self.private_file(part);
        let unreadable = |reason: String| UnreadableFile { path: place.path.clone(), reason };
        let corrupt = |_| unreadable("is corrupt: invalid JSON".to_owned());
        let bytes = match place.read() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
        };
        let mut value: Value = serde_json::from_slice(&bytes).map_err(corrupt)?;
        if is_reference(&value) {
            let text = self.keychain().and_then(|keychain| {
                let gone = || io::Error::other("it has no entry for this file");
                keychain.read(&place.path)?.ok_or_else(gone)
            });
            let text = text.map_err(|error| {
                unreadable(format!("refers to the keychain, which cannot be used: {error}"))
            })?;
            value = serde_json::from_str(&text).map_err(corrupt)?;
        }
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

    fn save<T>(&self, part: StoreFile, value: &T) -> Result<()>
    where
        T: Serialize + serde::de::DeserializeOwned,
    {
        self.back_up_damaged::<T>(part);
        let place = self.private_file(part);
        self.put(part, &to_json_text(value), |content| place.write(content))
    }

    /// An unreadable file is backed up, never overwritten.
    fn back_up_damaged<T: serde::de::DeserializeOwned>(&self, part: StoreFile) {
        if SECRET_FILES.contains(&part) && !self.is_reference(part) && self.load::<T>(part).is_err()
        {
            self.private_file(part).back_up();
        }
    }

    /// Stores a text in its place, and then the content of its file.
    fn put(
        &self,
        part: StoreFile,
        text: &str,
        write: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let place = self.private_file(part);
        let cannot = |source| place.error("cannot write", source);
        if self.place == TokenPlace::Keychain && SECRET_FILES.contains(&part) {
            let stored = self.keychain().and_then(|keychain| keychain.write(&place.path, text));
            let path = place.path.clone();
            stored.map_err(|source| Error::Keychain { path, source })?;
            return write(REFERENCE.as_bytes()).map_err(cannot);
        }
        let was_reference = self.is_reference(part);
        write(text.as_bytes()).map_err(cannot)?;
        if was_reference && let Ok(keychain) = self.keychain() {
            // It is no longer used.
            let _ = keychain.remove(&place.path);
        }
        Ok(())
    }

    /// Removes what a file refers to.
    fn remove_secret(&self, part: StoreFile) -> Result<()> {
        if !self.is_reference(part) {
            return Ok(());
        }
        let path = self.path(part);
        let removed = self.keychain().and_then(|keychain| keychain.remove(&path));
        removed.map_err(|source| Error::Keychain { path, source })
    }

    fn is_reference(&self, part: StoreFile) -> bool {
        let bytes = self.private_file(part).read().ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).is_ok_and(|value| is_reference(&value))
    }

    fn keychain(&self) -> io::Result<&dyn SecretStore> {
        let missing = || io::Error::new(io::ErrorKind::Unsupported, "this system has none");
        self.keychain.as_deref().ok_or_else(missing)
    }

    /// Whether the tokens are in the keychain.
    pub(crate) fn refers_to_keychain(&self) -> bool {
        self.is_reference(StoreFile::Tokens)
    }
}

/// Moves the stored secrets of all servers to the host's [`TokenPlace`]. Returns their number
/// and the unreadable ones. A move to the keychain deletes backups of damaged files.
pub async fn move_tokens(host: &Host) -> Result<(usize, Vec<String>)> {
    let folder = host.token_dir.as_ref().ok_or(Error::NoFolder)?;
    let (mut moved, mut unreadable) = (0, Vec::new());
    for stem in token_files::stems(folder) {
        let store = TokenStore::of_stem(folder, stem, host);
        let _lock = store.lock().await?;
        for part in SECRET_FILES {
            if store.is_reference(part) == (host.token_place == TokenPlace::Keychain) {
                continue;
            }
            match store.load::<Value>(part) {
                Ok(None) => {}
                Ok(Some(value)) => {
                    store.save(part, &value)?;
                    moved += 1;
                }
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        if host.token_place == TokenPlace::Keychain {
            let files = token_files::files(folder, &store.stem).into_iter();
            files.filter(|path| token_files::is_backup(path)).try_for_each(remove)?;
        }
    }
    Ok((moved, unreadable))
}

/// The content of a file whose secret is in the keychain.
const REFERENCE: &str = "{\n  \"keychain\": true,\n  \"version\": 1\n}\n";

fn is_reference(value: &Value) -> bool {
    value.get("keychain") == Some(&Value::Bool(true))
}

fn remove(path: PathBuf) -> Result<()> {
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::Store { path, what: "cannot remove", source: error })
        }
        _ => Ok(()),
    }
}

fn to_json_text(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("version".to_owned(), VERSION.into());
    }
    format!("{value:#}\n")
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
    format!("{readable}~{}", hex(&Sha256::digest(server)[..8]))
}

#[cfg(test)]
mod tests;
