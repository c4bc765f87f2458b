//! What was granted, kept in files that only their owner can read.
//!
//! Each server has its own: `<server>.json` holds its tokens, `.client.json` who we are to each
//! issuer, `.meta.json` what its authorization server can do, `.cimd-off` stands where our client
//! document was refused, and `.lock` is held while a token is renewed. A file is replaced whole or
//! not at all.

mod file;
pub mod kept;
mod lock;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::file::Place;
pub(crate) use self::file::Reserved;
pub(crate) use self::lock::Lock;
use super::discovery::Found;
use super::registration::Registration;
use crate::error::oauth::Error;

/// The version of the files.
const VERSION: u64 = 1;
/// The most issuers whose registrations are kept.
const MAX_ISSUERS: usize = 8;
/// The longest name of a server that is used as it is.
const MAX_PLAIN_STEM: usize = 64;

/// The tokens of a server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    #[serde(default = "bearer")]
    pub(crate) token_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// What was granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested_scope: Option<String>,
    /// When the access token ends, in seconds since 1970; none if nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    /// When it was granted.
    #[serde(default)]
    pub(crate) obtained_at: u64,
    /// Who granted it, and who takes the refresh token.
    #[serde(default)]
    pub(crate) issuer: String,
    /// Who it was granted to.
    #[serde(default)]
    pub(crate) client_id: String,
    /// What it is good for.
    #[serde(default)]
    pub(crate) resource: String,
    /// The key it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Which login they go back to; it stays the same through all renewals.
    #[serde(default)]
    pub(crate) login: String,
    /// How often they were renewed since.
    #[serde(default)]
    pub(crate) renewals: u64,
}

impl Tokens {
    /// Whether they are to be used instead of others: they come from another login, or were renewed
    /// more often.
    pub(crate) fn replace(&self, others: &Self) -> bool {
        let differ =
            self.access_token != others.access_token || self.refresh_token != others.refresh_token;
        self.login != others.login || (differ && !self.is_behind(others))
    }

    /// Whether others of the same login are later ones: a file is behind when the last pair could
    /// not be written.
    pub(crate) fn is_behind(&self, others: &Self) -> bool {
        self.login == others.login && self.renewals < others.renewals
    }
}

fn bearer() -> String {
    "Bearer".to_owned()
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("issuer", &self.issuer)
            .field("scope", &self.scope)
            .field("expires_at", &self.expires_at)
            .field("refreshable", &self.refresh_token.is_some())
            .finish_non_exhaustive()
    }
}

/// Who we are to each issuer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clients {
    /// What we registered, by issuer.
    #[serde(default)]
    pub(crate) registrations: BTreeMap<String, Registration>,
    /// The issuer that the configured client belongs to, by its id.
    #[serde(default)]
    pub(crate) configured: BTreeMap<String, String>,
}

/// A file that is there and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// The files of one server.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    folder: PathBuf,
    stem: String,
}

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Tokens,
    Clients,
    Metadata,
    Refused,
    Lock,
}

impl Part {
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

/// How a file looked: it is another one if this is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl Store {
    pub(crate) fn new(folder: &Path, server: &str) -> Self {
        Self { folder: folder.to_owned(), stem: stem(server) }
    }

    /// The tokens.
    pub(crate) fn tokens(&self) -> Result<Option<Tokens>, Unreadable> {
        self.load(Part::Tokens)
    }

    pub(crate) fn save_tokens(&self, tokens: &Tokens) -> Result<(), Error> {
        self.save(Part::Tokens, tokens)
    }

    /// Makes sure that there is room for new tokens, before the old ones are spent. The lock is held.
    pub(crate) fn reserve_tokens(&self) -> Result<Reserved, Error> {
        let place = self.place(Part::Tokens);
        place.sweep();
        Reserved::make(&place).map_err(|source| place.cannot_be("written", source))
    }

    pub(crate) fn save_reserved(&self, room: Reserved, tokens: &Tokens) -> Result<(), Error> {
        let place = self.place(Part::Tokens);
        room.fill(&text(tokens)).map_err(|source| place.cannot_be("written", source))
    }

    /// Moves a file of tokens that cannot be used out of the way.
    pub(crate) fn set_tokens_aside(&self) {
        self.place(Part::Tokens).set_aside();
    }

    pub(crate) fn clear_tokens(&self) -> Result<(), Error> {
        remove(self.path(Part::Tokens))
    }

    /// How the tokens' file looks now.
    pub(crate) fn look(&self) -> Option<Look> {
        let found = std::fs::metadata(self.path(Part::Tokens)).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Look { modified: found.modified().ok(), length: found.len(), inode })
    }

    /// Who we are to each issuer; an unreadable file counts as none.
    pub(crate) fn clients(&self) -> Clients {
        self.load(Part::Clients).ok().flatten().unwrap_or_default()
    }

    /// Changes who we are.
    pub(crate) fn change_clients(&self, change: impl FnOnce(&mut Clients)) -> Result<(), Error> {
        let mut clients = self.clients();
        change(&mut clients);
        while clients.registrations.len() > MAX_ISSUERS {
            clients.registrations.pop_first();
        }
        self.save(Part::Clients, &clients)
    }

    /// What is known of the authorization server.
    pub(crate) fn metadata(&self) -> Option<Found> {
        let kept: Value = self.load(Part::Metadata).ok().flatten()?;
        Found::read(&kept)
    }

    pub(crate) fn save_metadata(&self, found: &Found) -> Result<(), Error> {
        self.save(Part::Metadata, &found.to_json())
    }

    /// Whether our client document was refused here.
    pub(crate) fn has_refused_document(&self) -> bool {
        self.path(Part::Refused).exists()
    }

    /// Records that it was.
    pub(crate) fn refuse_document(&self) -> Result<(), Error> {
        let place = self.place(Part::Refused);
        place.write(b"").map_err(|source| place.cannot_be("written", source))
    }

    /// Gives it another chance.
    pub(crate) fn forgive_document(&self) -> Result<(), Error> {
        remove(self.path(Part::Refused))
    }

    /// Forgets everything about the server. The lock is held.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        self.place(Part::Tokens).sweep();
        // What was set aside because it was damaged may hold tokens too.
        kept::files(&self.folder, &self.stem).into_iter().try_for_each(remove)
    }

    /// Whether there is anything to forget.
    pub(crate) fn has_files(&self) -> bool {
        !kept::files(&self.folder, &self.stem).is_empty()
    }

    /// The beginning of the names of its files.
    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    /// The right to renew the tokens: one process at a time has it.
    pub(crate) async fn lock(&self) -> Result<Lock, Error> {
        Lock::take(&self.place(Part::Lock)).await
    }

    /// Where the tokens are.
    pub(crate) fn tokens_path(&self) -> PathBuf {
        self.path(Part::Tokens)
    }

    fn path(&self, part: Part) -> PathBuf {
        self.folder.join(format!("{}{}", self.stem, part.suffix()))
    }

    fn place(&self, part: Part) -> Place {
        Place { folder: self.folder.clone(), path: self.path(part) }
    }

    fn load<T: serde::de::DeserializeOwned>(&self, part: Part) -> Result<Option<T>, Unreadable> {
        let place = self.place(part);
        let unreadable = |reason: String| Unreadable { path: place.path.clone(), reason };
        let bytes = match place.read() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
        };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| unreadable("is damaged: it is no JSON document".to_owned()))?;
        // Files without a version are of the first one.
        let version = value.get("version").map_or(Some(VERSION), Value::as_u64);
        if version != Some(VERSION) {
            let reason = "was written by another version of this program".to_owned();
            return Err(unreadable(reason));
        }
        // What is wrong is not quoted: it may be a secret.
        let read = serde_json::from_value(value);
        read.map(Some).map_err(|_| unreadable("is damaged: a key is missing or wrong".to_owned()))
    }

    fn save<T>(&self, part: Part, value: &T) -> Result<(), Error>
    where
        T: Serialize + serde::de::DeserializeOwned,
    {
        let place = self.place(part);
        // What cannot be read is not ours to destroy.
        if matches!(part, Part::Tokens | Part::Clients) && self.load::<T>(part).is_err() {
            place.set_aside();
        }
        place.write(&text(value)).map_err(|source| place.cannot_be("written", source))
    }
}

fn remove(path: PathBuf) -> Result<(), Error> {
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::Store { path, what: "cannot be removed", source: error })
        }
        _ => Ok(()),
    }
}

/// A document with its version, as it is written.
fn text(value: &impl Serialize) -> Vec<u8> {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("version".to_owned(), VERSION.into());
    }
    let mut text = serde_json::to_vec_pretty(&value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The beginning of the names of a server's files. Two servers never share one: a name that could
/// be another's file, or that not every file system can hold, gets the hash of itself.
fn stem(server: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let taken = [".client", ".meta", ".json", ".lock", ".bak", ".cimd-off"];
    let lower = server.to_ascii_lowercase();
    let folds_case = cfg!(any(windows, target_os = "macos")) && lower != server;
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
