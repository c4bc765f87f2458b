//! Where things are kept: the database, files that were made, and the secret of keys.

use std::path::{Path, PathBuf};

use settings::{Field, Problem, Text};

use super::mapping::{Length, Mapping};
use super::secret::Secret;

/// The SQLite file, unless the configuration says otherwise.
pub(super) const DEFAULT_DATABASE: &str = "gateway.sqlite3";
/// The folder of artifacts, unless the configuration says otherwise.
pub(super) const DEFAULT_ARTIFACTS: &str = "artifacts";
/// The file of the secret of keys, which the program makes.
pub(super) const SECRET_FILE: &str = "gateway.secret";
/// How many connections to a server, unless the configuration says otherwise.
pub(super) const DEFAULT_POOL_SIZE: u32 = 8;
const MAX_POOL_SIZE: u32 = 1000;

const DURABILITIES: &[(&str, Durability)] =
    &[("power", Durability::Power), ("process", Durability::Process)];

/// Where members, keys and money are kept.
#[derive(Debug, Clone)]
pub enum Database {
    /// A file beside the configuration, or anywhere else.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What an acknowledged commit survives.
        durability: Durability,
    },
    /// A server, shared by several processes.
    Postgres {
        /// Its address, password included.
        url: Secret,
        /// The most connections to it.
        pool_size: u32,
    },
}

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The loss of power.
    Power,
    /// The end of the process only.
    Process,
}

/// Where files that were made are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Artifacts {
    /// In a folder.
    Files {
        /// The folder.
        path: PathBuf,
    },
    /// In a bucket.
    S3 {
        /// Its name.
        bucket: String,
        /// What every name in it begins with; may be empty.
        prefix: String,
    },
}

/// What the secrets of keys are hashed with.
#[derive(Debug, Clone)]
pub enum KeySecret {
    /// It was configured.
    Given(Secret),
    /// It stands in this file, which is made when it is missing.
    File(PathBuf),
}

/// Reads `database`.
pub(super) fn database(root: &mut Mapping<'_, '_, '_>, folder: &Path) -> Database {
    let otherwise =
        Database::Sqlite { path: folder.join(DEFAULT_DATABASE), durability: Durability::Power };
    let Some(field) = root.take("database") else { return otherwise };
    if !matches!(field.node.value, settings::Value::Map(_)) {
        let url = root.reader.string(&field, WANTED_DATABASE);
        let read = url.and_then(|url| location(root, &field, &url, folder));
        return read.unwrap_or(otherwise);
    }
    let Some(mut map) = Mapping::open(root.reader, "database", &field) else { return otherwise };
    let url = map.take("url");
    let (pool_size, durability) = (map.take("pool_size"), map.take("durability"));
    let Some(url) = url else {
        map.refuse("has no `url`", format!("`url` must be {WANTED_DATABASE}"));
        map.close();
        return otherwise;
    };
    let read = map.reader.string(&url, WANTED_DATABASE);
    let mut read = read.and_then(|text| location(&mut map, &url, &text, folder));
    match &mut read {
        Some(Database::Sqlite { durability: kept, .. }) => {
            if let Some(field) = durability {
                *kept = map.reader.word(&field, DURABILITIES, ("", Durability::Power));
            }
            if let Some(field) = pool_size {
                let problem = Problem::error(field.place, "is for PostgreSQL only");
                map.reader.report(&field.key, problem.hint("remove it"));
            }
        }
        Some(Database::Postgres { pool_size: kept, .. }) => {
            *kept = map.reader.whole(pool_size, 1..=MAX_POOL_SIZE, DEFAULT_POOL_SIZE);
            if let Some(field) = durability {
                let problem = Problem::error(field.place, "is for SQLite only");
                map.reader.report(&field.key, problem.hint("remove it"));
            }
        }
        None => {}
    }
    map.close();
    read.unwrap_or(otherwise)
}

const WANTED_DATABASE: &str = "`sqlite:PATH` or `postgres://…`";

/// What an address of a database means. It is never quoted, since it may hold a password.
fn location(
    map: &mut Mapping<'_, '_, '_>,
    field: &Field<'_>,
    text: &Text,
    folder: &Path,
) -> Option<Database> {
    let value = text.value().trim();
    if let Some(path) = value.strip_prefix("sqlite:") {
        if path.is_empty() || path.starts_with(':') || path.starts_with("//") {
            let problem = Problem::error(field.place, "must name a file after `sqlite:`");
            let hint = format!("write `sqlite:{DEFAULT_DATABASE}` or an absolute path");
            map.reader.report(&field.key, problem.hint(hint));
            return None;
        }
        let path = placed(map, folder, path);
        return Some(Database::Sqlite { path, durability: Durability::Power });
    }
    let rest = value.strip_prefix("postgres://").or_else(|| value.strip_prefix("postgresql://"));
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        let user = rest.split(['/', '?']).next().and_then(|server| server.rsplit_once('@'));
        let has_password = user.is_some_and(|(user, _)| user.contains(':'));
        if has_password {
            super::mapping::warn_of_plain_text(map.reader, field, text);
        }
        map.reader.secrets.embedded(text.clone());
        return Some(Database::Postgres { url: Secret::new(value), pool_size: DEFAULT_POOL_SIZE });
    }
    let problem = Problem::error(field.place, format!("must be {WANTED_DATABASE}"));
    map.reader.report(&field.key, problem);
    None
}

/// A path, `~` expanded, relative ones from the folder of the file.
pub(super) fn placed(map: &Mapping<'_, '_, '_>, folder: &Path, path: &str) -> PathBuf {
    let path = path.trim();
    folder.join(map.reader.scope.expand_home(path).unwrap_or_else(|| path.to_owned()))
}

/// Reads the address of a place for files.
pub(super) fn artifacts(
    root: &mut Mapping<'_, '_, '_>,
    field: &Field<'_>,
    folder: &Path,
) -> Option<Artifacts> {
    let wanted = "`file:PATH` or `s3://BUCKET/PREFIX`";
    let text = root.reader.string(field, wanted)?;
    let value = text.value().trim();
    if let Some(path) = value.strip_prefix("file:").map(|path| path.trim_start_matches("//"))
        && !path.is_empty()
    {
        return Some(Artifacts::Files { path: placed(root, folder, path) });
    }
    let bucket = value.strip_prefix("s3://").map(|rest| rest.split_once('/').unwrap_or((rest, "")));
    if let Some((bucket, prefix)) = bucket.filter(|(bucket, _)| is_bucket(bucket)) {
        return Some(Artifacts::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() });
    }
    root.reader.refuse(field, format!("must be {wanted}"));
    None
}

fn is_bucket(name: &str) -> bool {
    (3..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b))
}

/// Reads `key_secret`.
pub(super) fn key_secret(root: &mut Mapping<'_, '_, '_>, folder: &Path) -> KeySecret {
    match root.secret("key_secret", Length::Guarded) {
        Some(secret) => KeySecret::Given(secret),
        None => KeySecret::File(folder.join(SECRET_FILE)),
    }
}
