//! Where searches go: providers of results, and how long results are kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use settings::{Seconds, Zero};

use super::mapping::Mapping;
use super::provider::{Credentials, Health, Provider, Timeouts};
use super::store;
use super::{Database, mapping};

/// The folder of indexes beside the database.
const INDEX_FOLDER: &str = "search-index";
/// The largest file that an index reads, unless the configuration says otherwise.
const DEFAULT_FILE_BYTES: u64 = 16 * 1024 * 1024;
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;
/// How often an index looks at its folder, unless the configuration says otherwise.
const DEFAULT_RESCAN: Duration = Duration::from_mins(1);
/// How long results are kept, unless the configuration says otherwise.
const DEFAULT_CACHE: Duration = Duration::from_mins(10);
/// How long a provider of results may take for all of its answer.
pub(super) const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(15),
    idle: Duration::from_secs(15),
};
/// How Brave knows us.
const BRAVE_TOKEN: &str = "x-subscription-token";

/// Everything about searches.
#[derive(Debug, Clone)]
pub struct Search {
    /// Who is asked, in this order.
    pub providers: Vec<SearchProvider>,
    /// How long results are kept; `None` for not at all.
    pub cache: Option<Duration>,
    /// Whether members see results that others asked for.
    pub share_cache: bool,
}

/// One provider of results.
#[derive(Debug, Clone)]
pub enum SearchProvider {
    /// A service on the network.
    Remote {
        /// What it speaks.
        kind: SearchKind,
        /// How it is reached and looked after, as an upstream for models is.
        upstream: Box<Provider>,
    },
    /// An index of the operator's own files.
    Index(Index),
}

/// What a service of results speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// The JSON interface of `SearXNG`.
    Searxng,
    /// The Brave Search API.
    Brave,
    /// The Tavily API.
    Tavily,
}

/// An index of files.
#[derive(Debug, Clone)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// What is indexed.
    pub folder: PathBuf,
    /// What the relative paths of files are appended to, to be the addresses of results.
    pub base_url: Option<Uri>,
    /// Where the index itself is kept.
    pub index_folder: PathBuf,
    /// How often the folder is looked at.
    pub rescan: Duration,
    /// The largest file that is read.
    pub max_file_bytes: u64,
}

impl SearchProvider {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Remote { upstream, .. } => &upstream.name,
            Self::Index(index) => &index.name,
        }
    }

    /// Its kind, as the configuration calls it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Remote { kind, .. } => kind.word(),
            Self::Index(_) => "index",
        }
    }
}

impl SearchKind {
    /// As the configuration calls it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
        }
    }
}

impl SearchKind {
    /// Where it is, unless the configuration says otherwise.
    pub(super) fn default_base(self) -> Option<Uri> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some(Uri::from_static("https://api.search.brave.com/res/v1")),
            Self::Tavily => Some(Uri::from_static("https://api.tavily.com")),
        }
    }

    /// How it is looked after. What costs nothing to ask for is asked for.
    pub(super) fn health(self) -> Health {
        let path = match self {
            Self::Searxng => "/healthz",
            Self::Brave | Self::Tavily => "",
        };
        Health { path: path.to_owned(), ..Health::default() }
    }

    /// Puts the key where this kind looks for it; most take it as a bearer credential.
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

/// Reads what is special about a provider that is an index.
pub(super) fn index(map: &mut Mapping<'_, '_, '_>, name: &str, folder: &Path) -> Option<Index> {
    let indexed = map.text("folder", "the path of a folder");
    let base = map.take("base_url");
    let base_url = base.and_then(|field| mapping::address(map.reader, &field));
    let kept = map.text("index_folder", "the path of a folder");
    // Without one it is found as soon as it is known where the database is.
    let index_folder = kept.map(|path| store::placed(map, folder, path.value()));
    let index_folder = index_folder.unwrap_or_default();
    let rescan = map.seconds("rescan", DEFAULT_RESCAN);
    let max_file_bytes = map.whole("max_file_bytes", 1..=MAX_FILE_BYTES, DEFAULT_FILE_BYTES);
    let Some(indexed) = indexed else {
        map.refuse("has no `folder`", "name the folder of the files to be found");
        return None;
    };
    let indexed = store::placed(map, folder, indexed.value());
    let name = name.to_owned();
    Some(Index { name, folder: indexed, base_url, index_folder, rescan, max_file_bytes })
}

/// Reads `search`. An index that was given no place is kept beside the database, or beside the
/// configuration where the database is a server.
pub(super) fn search(
    root: &mut Mapping<'_, '_, '_>,
    mut providers: Vec<SearchProvider>,
    (database, folder): (&Database, &Path),
) -> Search {
    let beside = match database {
        Database::Sqlite { path, .. } => path.parent().unwrap_or(folder),
        Database::Postgres { .. } => folder,
    };
    for provider in &mut providers {
        if let SearchProvider::Index(index) = provider
            && index.index_folder.as_os_str().is_empty()
        {
            index.index_folder = beside.join(INDEX_FOLDER).join(&index.name);
        }
    }
    let (mut cache, mut share_cache) = (Some(DEFAULT_CACHE), false);
    if let Some(field) = root.take("search")
        && let Some(mut map) = Mapping::open(root.reader, "search", &field)
    {
        let field = map.take("cache_seconds");
        let rule = Seconds { default: DEFAULT_CACHE, zero: Zero::Allowed };
        cache = Some(map.reader.seconds(field, &rule)).filter(|time| !time.is_zero());
        share_cache = map.flag("share_cache", share_cache);
        map.close();
    }
    Search { providers, cache, share_cache }
}
