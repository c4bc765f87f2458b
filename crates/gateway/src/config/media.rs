//! Media: where what was made is kept and for how long, what one request may ask for, and the files
//! that everybody may download.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use settings::Value;

use super::mapping::{self, Length, Mapping};
use super::secret::Secret;
use super::store::{self, Artifacts};

const MIB: u64 = 1024 * 1024;
const SECONDS_OF_A_DAY: u64 = 86400;
/// The folder of downloads, unless the configuration says otherwise.
const DEFAULT_DOWNLOADS: &str = "downloads";
/// The file of the key that downloads are signed with, unless the configuration says otherwise.
const DEFAULT_KEY: &str = "downloads.key";

/// What holds for media.
#[derive(Debug, Clone)]
pub struct Media {
    /// Where files that were made are kept.
    pub artifacts: Artifacts,
    /// How a bucket is reached.
    pub bucket: Bucket,
    /// How long runs and their files are kept.
    pub kept: Duration,
    /// The largest file, in bytes.
    pub max_bytes: u64,
    /// The most images that one request may ask for.
    pub max_images: u32,
    /// The longest text that one request may have spoken, in characters.
    pub max_text_chars: u32,
}

/// How a bucket is reached.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// Its region.
    pub region: String,
    /// Its server, where that is not the one of the region.
    pub endpoint: Option<Uri>,
    /// How the server knows us; without it, by the role of the machine.
    pub credentials: Option<(Secret, Secret)>,
}

/// Files that everybody may download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloads {
    /// Where they are.
    pub folder: PathBuf,
    /// The key that their manifest is signed with; only publishing needs it.
    pub key_file: PathBuf,
}

/// Reads `artifacts` and `media`. Without a place, files are kept beside the database.
pub(super) fn media(
    root: &mut Mapping<'_, '_, '_>,
    folder: &Path,
    database: &super::Database,
) -> Media {
    let beside = match database {
        super::Database::Sqlite { path, .. } => path.parent().unwrap_or(folder),
        super::Database::Postgres { .. } => folder,
    };
    let mut media = Media {
        artifacts: Artifacts::Files { path: beside.join(store::DEFAULT_ARTIFACTS) },
        bucket: Bucket { region: "us-east-1".to_owned(), endpoint: None, credentials: None },
        kept: Duration::from_secs(30 * SECONDS_OF_A_DAY),
        max_bytes: 64 * MIB,
        max_images: 1,
        max_text_chars: 4096,
    };
    if let Some(field) = root.take("artifacts") {
        if matches!(field.node.value, Value::Map(_)) {
            if let Some(map) = Mapping::open(root.reader, "artifacts", &field) {
                detailed(map, folder, &mut media);
            }
        } else if let Some(artifacts) = store::artifacts(root, &field, folder) {
            media.artifacts = artifacts;
        }
    }
    if let Some(field) = root.take("media")
        && let Some(mut map) = Mapping::open(root.reader, "media", &field)
    {
        media.max_images = map.whole("max_images", 1..=10, media.max_images);
        media.max_text_chars = map.whole("max_text_chars", 1..=1_000_000, media.max_text_chars);
        map.close();
    }
    media
}

fn detailed(mut map: Mapping<'_, '_, '_>, folder: &Path, media: &mut Media) {
    if let Some(field) = map.take("url")
        && let Some(artifacts) = store::artifacts(&mut map, &field, folder)
    {
        media.artifacts = artifacts;
    }
    let days = map.whole("days", 1..=3650_u64, 30);
    media.kept = Duration::from_secs(days * SECONDS_OF_A_DAY);
    media.max_bytes = map.whole("max_bytes", 1024..=1024 * MIB, media.max_bytes);
    if let Some(region) = map.text("region", "the region of a bucket") {
        region.value().trim().clone_into(&mut media.bucket.region);
    }
    let endpoint = map.take("endpoint");
    media.bucket.endpoint = endpoint.and_then(|field| mapping::address(map.reader, &field));
    let id = map.secret("access_key_id", Length::Any);
    let secret = map.secret("secret_access_key", Length::Any);
    if id.is_some() != secret.is_some() {
        let hint = "give both, or none where the role of the machine is enough";
        map.refuse("has one of `access_key_id` and `secret_access_key`", hint);
    }
    media.bucket.credentials = id.zip(secret);
    map.close();
}

/// Reads `downloads`; without it there are none.
pub(super) fn downloads(root: &mut Mapping<'_, '_, '_>, folder: &Path) -> Option<Downloads> {
    let field = root.take("downloads")?;
    let mut map = Mapping::open(root.reader, "downloads", &field)?;
    let kept = map.text("folder", "the path of a folder");
    let kept = kept.map(|path| store::placed(&map, folder, path.value()));
    let key = map.text("key_file", "the path of a file");
    let key = key.map(|path| store::placed(&map, folder, path.value()));
    map.close();
    Some(Downloads {
        folder: kept.unwrap_or_else(|| folder.join(DEFAULT_DOWNLOADS)),
        key_file: key.unwrap_or_else(|| folder.join(DEFAULT_KEY)),
    })
}
