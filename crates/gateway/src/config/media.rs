//! Media: storage and retention of generated files, limits of one request, and public
//! downloads.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use settings::{Days, Reader, section};

use super::address::{self, Address};
use super::secret::Secret;
use super::store::{Artifacts, Database};

const MIB: u64 = 1024 * 1024;

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
    /// Limits of a media request. Every request within these limits costs the same.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Media {
        /// Maximum number of images per request, up to 10.
        pub max_images: u32 where 1..=10 = 1,
        /// Maximum length of the text of a speech request, in characters.
        pub max_text_chars: u32 where 1..=1_000_000 = 4096,
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
