//! Storage: the database, generated files, public downloads, and the key secret.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use settings::{Days, Field, Reader, section};

use super::address::{self, Address};
use super::secret::{Secret, warn_of_plain_text};

const MIB: u64 = 1024 * 1024;
const DEFAULT_DATABASE: &str = "gateway.sqlite3";
/// Default file of the key secret, created by the program.
pub(super) const SECRET_FILE: &str = "gateway.secret";
const DEFAULT_POOL_SIZE: u32 = 8;
const WANTED_DATABASE: &str = "`sqlite:PATH` or `postgres://…`";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "DatabaseFile")]
pub enum Database {
    Sqlite {
        path: PathBuf,
        durability: Durability,
    },
    /// A PostgreSQL server; can be shared.
    Postgres {
        url: Secret,
        pool_size: u32,
    },
}

/// A URL, or a mapping. Only one process can serve from a SQLite file; several processes can share
/// a PostgreSQL database.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>, extend("x-short" = "url"))]
pub(super) struct DatabaseFile {
    /// `sqlite:PATH` or `postgres://…`.
    #[schemars(extend("format" = "database"))]
    #[schemars(extend("x-missing" = "`url` must be `sqlite:PATH` or `postgres://…`"))]
    url: String,
    /// PostgreSQL: maximum number of connections. Default: 8.
    #[schemars(range(min = 1, max = 1000))]
    pool_size: Option<u32>,
    /// SQLite: what committed data survives: `power` (power loss, the default) or `process` (only
    /// the end of the process; faster).
    durability: Option<Durability>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    Power,
    Process,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Artifacts {
    Files {
        path: PathBuf,
    },
    S3 {
        bucket: String,
        /// Prefix of every object name; may be empty.
        prefix: String,
    },
}

impl Default for Artifacts {
    fn default() -> Self {
        Self::Files { path: PathBuf::new() }
    }
}

section! {
    /// A URL, or a mapping. `region`, `endpoint` and the access keys apply to buckets only.
    #[derive(PartialEq, Eq)]
    #[schemars(extend("x-short" = "url"))]
    pub struct Storage {
        /// `file:PATH` or `s3://BUCKET/PREFIX`.
        #[serde(rename = "url")]
        #[schemars(with = "Option<String>", extend("format" = "artifacts", "default" = null))]
        pub place: Artifacts,
        /// How long to keep runs and their files, in days; at most 3650.
        #[serde(rename = "days", with = "Days::<3650>")]
        pub kept: Duration = Duration::from_hours(30 * 24),
        /// Maximum size of a file, up to 1 GiB.
        pub max_bytes: u64 where 1024..=(1024 * MIB) = 64 * MIB,
        /// Region of the bucket.
        #[schemars(extend("x-wanted" = "the region of a bucket"))]
        pub region: String = "us-east-1".to_owned(),
        /// URL of the S3 server, if it is not the default of the region.
        #[serde(deserialize_with = "address::uri")]
        #[schemars(with = "Option<Address>")]
        pub endpoint: Option<Uri>,
        /// Access key ID: `${NAME}`. Without it, the role of the machine is used.
        pub access_key_id: Option<Secret>,
        /// Secret access key: `${NAME}`.
        pub secret_access_key: Option<Secret>,
    }
}

section! {
    /// Files served under `/v1/downloads`. Publish them with `agent gateway downloads publish`.
    #[derive(PartialEq, Eq)]
    pub struct Downloads {
        /// Folder of the files.
        #[schemars(extend("format" = "path", "x-wanted" = "the path of a folder"))]
        pub folder: PathBuf = "downloads".into(),
        /// Signing key. Needed for publishing only.
        #[schemars(extend("format" = "path", "x-wanted" = "the path of a file"))]
        pub key_file: PathBuf = "downloads.key".into(),
    }
}

/// Source of the secret that keys are hashed with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum KeySecret {
    Given(Secret),
    /// Read from this file, which is created if it is missing.
    #[serde(skip)]
    File(PathBuf),
}

impl From<DatabaseFile> for Database {
    fn from(file: DatabaseFile) -> Self {
        match file.url.strip_prefix("sqlite:") {
            Some(path) => Self::Sqlite {
                path: path.into(),
                durability: file.durability.unwrap_or(Durability::Power),
            },
            None => Self::Postgres {
                url: Secret::new(file.url),
                pool_size: file.pool_size.unwrap_or(DEFAULT_POOL_SIZE),
            },
        }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::Sqlite { path: DEFAULT_DATABASE.into(), durability: Durability::Power }
    }
}

impl Database {
    /// Sets the default file, and checks that every key fits the kind of database.
    pub(super) fn resolve(&mut self, reader: &mut Reader<'_>, folder: &Path) {
        let (key, whose) = match self {
            Self::Sqlite { path, .. } => {
                if !reader.is_set("database") {
                    *path = folder.join(DEFAULT_DATABASE);
                }
                ("database.pool_size", "PostgreSQL")
            }
            Self::Postgres { .. } => ("database.durability", "SQLite"),
        };
        // Without a URL, the kind of database is unknown.
        if reader.is_set(key) && reader.is_set("database.url") {
            reader.refuse_key(key, format!("applies to {whose} only"), "remove it");
        }
    }

    /// The folder of files that belong to the database: next to it, or next to the configuration
    /// for a server.
    pub(super) fn folder<'a>(&'a self, otherwise: &'a Path) -> &'a Path {
        match self {
            Self::Sqlite { path, .. } => path.parent().unwrap_or(otherwise),
            Self::Postgres { .. } => otherwise,
        }
    }
}

impl Default for KeySecret {
    fn default() -> Self {
        Self::File(SECRET_FILE.into())
    }
}

impl Storage {
    /// The default storage is next to the database.
    pub(super) fn resolve(
        &mut self,
        reader: &mut Reader<'_>,
        (database, folder): (&Database, &Path),
    ) {
        if self.access_key_id.is_some() != self.secret_access_key.is_some() {
            let message = "has only one of `access_key_id` and `secret_access_key`";
            let hint = "set both, or remove both to use the role of the machine";
            reader.refuse_key("artifacts", message, hint);
        }
        if self.place == Artifacts::default() {
            self.place = Artifacts::Files { path: database.folder(folder).join("artifacts") };
        }
    }
}

/// The URL of a database. It is never quoted, since it may hold a password.
pub(super) fn database_format(
    reader: &mut Reader<'_>,
    _: &Json,
    field: &Field<'_>,
) -> Option<Json> {
    let text = reader.string(field, WANTED_DATABASE)?;
    let value = text.value().trim();
    if let Some(path) = value.strip_prefix("sqlite:") {
        if path.is_empty() || path.starts_with(':') || path.starts_with("//") {
            let hint = format!("write `sqlite:{DEFAULT_DATABASE}` or an absolute path");
            return reader.refuse_hinted(field, "must name a file after `sqlite:`", hint.as_str());
        }
        return Some(format!("sqlite:{}", reader.expanded(path)).into());
    }
    let rest = value.strip_prefix("postgres://").or_else(|| value.strip_prefix("postgresql://"));
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        let user = rest.split(['/', '?']).next().and_then(|server| server.rsplit_once('@'));
        if user.is_some_and(|(user, _)| user.contains(':')) {
            warn_of_plain_text(reader, (&field.key, field.position), &text);
        }
        reader.secrets.embedded(text.clone());
        return Some(value.into());
    }
    reader.refuse(field, format!("must be {WANTED_DATABASE}"))
}

pub(super) fn artifacts_format(
    reader: &mut Reader<'_>,
    _: &Json,
    field: &Field<'_>,
) -> Option<Json> {
    let wanted = "`file:PATH` or `s3://BUCKET/PREFIX`";
    let text = reader.string(field, wanted)?;
    let value = text.value().trim();
    if let Some(path) = value.strip_prefix("file:").map(|path| path.trim_start_matches("//"))
        && !path.is_empty()
    {
        let path = reader.expanded(path).into();
        return serde_json::to_value(Artifacts::Files { path }).ok();
    }
    if let Some(rest) = value.strip_prefix("s3://") {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if is_bucket(bucket) {
            let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
            return serde_json::to_value(Artifacts::S3 { bucket, prefix }).ok();
        }
    }
    reader.refuse(field, format!("must be {wanted}"))
}

fn is_bucket(name: &str) -> bool {
    (3..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b))
}
