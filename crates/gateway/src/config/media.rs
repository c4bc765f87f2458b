//! Media: where what was made is kept and for how long, what one request may ask for, and the files
//! that everybody may download.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use settings::{Days, Problem, Reader, section};

use super::address::Address;
use super::secret::Secret;
use super::store::{Artifacts, Database};

const MIB: u64 = 1024 * 1024;

/// What holds for media.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// How to reach a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Its region.
    pub region: String,
    /// Its server, where that is not the one of the region.
    pub endpoint: Option<Uri>,
    /// How the server knows us; without it, by the role of the machine.
    pub credentials: Option<(Secret, Secret)>,
}

section! {
    /// A URL, or a mapping. `region`, `endpoint` and the access keys apply to buckets only.
    #[schemars(extend("x-short" = "url"))]
    pub(super) struct ArtifactsFile {
        /// `file:PATH` or `s3://BUCKET/PREFIX`.
        #[schemars(with = "Option<String>", extend("format" = "artifacts"))]
        url: Option<Artifacts>,
        /// How long to keep runs and their files, in days; at most 3650.
        #[serde(with = "Days")]
        #[schemars(range(min = 1, max = 3650))]
        days: Duration = Duration::from_hours(30 * 24),
        /// Maximum size of a file, up to 1 GiB.
        #[schemars(range(min = 1024, max = 1024 * MIB))]
        max_bytes: u64 = 64 * MIB,
        /// Region of the bucket.
        #[schemars(extend("x-wanted" = "the region of a bucket"))]
        region: String = "us-east-1".to_owned(),
        /// URL of the S3 server, if it is not the default of the region.
        endpoint: Option<Address>,
        /// Access key ID: `${NAME}`. Without it, the role of the machine is used.
        access_key_id: Option<Secret>,
        /// Secret access key: `${NAME}`.
        secret_access_key: Option<Secret>,
    }
}

section! {
    /// Limits of a media request. Every request within these limits costs the same.
    pub(super) struct MediaFile {
        /// Maximum number of images per request, up to 10.
        #[schemars(range(min = 1, max = 10))]
        max_images: u32 = 1,
        /// Maximum length of the text of a speech request, in characters.
        #[schemars(range(min = 1, max = 1_000_000))]
        max_text_chars: u32 = 4096,
    }
}

section! {
    /// Files served under `/v1/downloads`. Publish them with `agent gateway downloads publish`.
    #[derive(PartialEq, Eq)]
    pub struct Downloads {
        /// Folder of the files.
        #[schemars(extend("format" = "path", "x-type" = "path"))]
        #[schemars(extend("x-wanted" = "the path of a folder"))]
        pub folder: PathBuf = "downloads".into(),
        /// Signing key. Needed for publishing only.
        #[schemars(extend("format" = "path", "x-type" = "path", "x-wanted" = "the path of a file"))]
        pub key_file: PathBuf = "downloads.key".into(),
    }
}

impl Media {
    /// Without an address, files are kept beside the database.
    pub(super) fn new(
        (artifacts, media): (ArtifactsFile, MediaFile),
        reader: &mut Reader<'_>,
        (database, folder): (&Database, &Path),
    ) -> Self {
        let (id, secret) = (artifacts.access_key_id, artifacts.secret_access_key);
        if id.is_some() != secret.is_some() {
            let message = "has only one of `access_key_id` and `secret_access_key`";
            let problem = Problem::error(reader.position("artifacts"), message);
            let hint = "set both, or remove both to use the role of the machine";
            reader.report("artifacts", problem.hint(hint));
        }
        let beside = || Artifacts::Files { path: database.folder(folder).join("artifacts") };
        Self {
            artifacts: artifacts.url.unwrap_or_else(beside),
            bucket: Bucket {
                region: artifacts.region,
                endpoint: artifacts.endpoint.map(|Address(uri)| uri),
                credentials: id.zip(secret),
            },
            kept: artifacts.days,
            max_bytes: artifacts.max_bytes,
            max_images: media.max_images,
            max_text_chars: media.max_text_chars,
        }
    }
}
