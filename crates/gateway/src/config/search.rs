//! Search providers and the cache of results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;
use settings::{Seconds, SecondsOrZero, section, word};

use super::provider::{Credentials, Health, Provider, Timeouts};
use super::store::Database;

const INDEX_FOLDER: &str = "search-index";
/// Timeouts of search providers; `first_byte` covers the whole response.
pub(super) const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(15),
    idle: Duration::from_secs(15),
};
const BRAVE_TOKEN: &str = "x-subscription-token";

section! {
    /// Web search. Search providers are listed under `providers` with the kinds `searxng`, `brave`,
    /// `tavily` and `index`. They are tried in the order of the file; if one fails or finds
    /// nothing, the next one is tried.
    #[derive(PartialEq)]
    pub struct Search {
        /// The providers of results, in the order in which they are asked.
        #[serde(skip)]
        pub providers: Vec<SearchProvider>,
        /// How long to cache search results; 0 disables the cache.
        #[serde(rename = "cache_seconds", with = "SecondsOrZero")]
        pub cache: Option<Duration> = Some(Duration::from_mins(10)),
        /// Share cached results between members. This saves searches, but `cached_at` reveals that
        /// another member searched for the same query.
        pub share_cache: bool,
    }
}

impl Search {
    /// Adds the providers. The default folder of an index is next to the database.
    pub(super) fn resolve(
        &mut self,
        providers: Vec<SearchProvider>,
        (database, folder): (&Database, &Path),
    ) {
        self.providers = providers;
        for provider in &mut self.providers {
            if let SearchProvider::Index(index) = provider
                && index.index_folder.as_os_str().is_empty()
            {
                index.index_folder = database.folder(folder).join(INDEX_FOLDER).join(&index.name);
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum SearchProvider {
    Remote {
        kind: SearchKind,
        /// Connection and health checks, as for an upstream of models.
        upstream: Box<Provider>,
    },
    Index(Index),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    Searxng,
    Brave,
    Tavily,
}

section! {
    /// An index of files.
    #[derive(PartialEq, Eq)]
    pub struct Index {
        #[serde(skip)]
        pub name: String,
        #[serde(skip)]
        pub folder: PathBuf,
        /// Base URL of the results; relative paths of files are appended.
        #[serde(skip)]
        pub base_url: Option<Uri>,
        /// `index`: folder of the index itself. Default: `search-index/NAME` next to the database.
        #[schemars(extend("format" = "path", "x-kinds" = ["index"]))]
        #[schemars(extend("x-wanted" = "the path of a folder", "default" = null))]
        pub index_folder: PathBuf,
        /// `index`: interval of scans for changed files.
        #[schemars(extend("x-kinds" = ["index"]))]
        pub rescan: Duration as "Seconds" = Duration::from_mins(1),
        /// `index`: maximum size of an indexed file, up to 1 GiB.
        #[schemars(range(min = 1, max = 1024 * 1024 * 1024), extend("x-kinds" = ["index"]))]
        pub max_file_bytes: u64 = 16 * 1024 * 1024,
    }
}

impl SearchProvider {
    pub fn name(&self) -> &str {
        match self {
            Self::Remote { upstream, .. } => &upstream.name,
            Self::Index(index) => &index.name,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Remote { kind, .. } => kind.as_str(),
            Self::Index(_) => "index",
        }
    }
}

impl SearchKind {
    pub fn as_str(self) -> &'static str {
        word::<Self>(self as usize)
    }

    pub(super) fn default_base(self) -> Option<Uri> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some(Uri::from_static("https://api.search.brave.com/res/v1")),
            Self::Tavily => Some(Uri::from_static("https://api.tavily.com")),
        }
    }

    /// Its health checks. Only free requests are probed.
    pub(super) fn health(self) -> Health {
        let path = match self {
            Self::Searxng => "/healthz",
            Self::Brave | Self::Tavily => "",
        };
        Health { path: path.to_owned(), ..Health::default() }
    }

    /// Puts the key where this API expects it; most take a bearer token.
    pub(super) fn place_key(self, (key, mut headers): Credentials) -> Credentials {
        if self == Self::Brave
            && let Some(key) = &key
            && let Ok(mut value) = HeaderValue::from_str(key.reveal())
        {
            value.set_sensitive(true);
            headers.push((HeaderName::from_static(BRAVE_TOKEN), value));
            return (None, headers);
        }
        (key, headers)
    }
}
