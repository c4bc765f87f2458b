//! An index of the operator's own files: kept in a folder, brought up to date now and then, and made
//! anew where it is damaged. One process writes it, any number read it.

mod fields;
mod place;
mod query;
mod scan;
mod words;

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use document_parser::Pool;
use http::Uri;
use tantivy::{IndexReader, ReloadPolicy};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::fields::{Fields, Record};
use self::place::{Lock, Place};
use self::scan::Source;
use super::canonical;
use super::wanted::{Hit, Wanted};
use crate::config;
use crate::failure::chain;
use crate::problem::Problem;

/// The time between two looks at the folder at least, whatever happens.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// An index of files.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    rescan: Duration,
    config: config::Index,
    /// What the paths of files are appended to; ends with a slash.
    base: Url,
    place: Place,
    /// What is searched; nothing until there is something whole.
    opened: ArcSwapOption<Opened>,
    /// Set by a failure: then all of it is held against its checksums.
    is_suspect: AtomicBool,
    /// Wakes whoever looks at it.
    wake: Notify,
    keeper: Mutex<Keeper>,
    /// Reads the text of files.
    parser: Pool,
}

/// A document of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// All of its text.
    pub text: String,
}

/// What only the writer has.
#[derive(Debug, Default)]
struct Keeper {
    lock: Option<Lock>,
    /// What is in the index, by path, with the generation for which that is so.
    records: Option<(String, HashMap<String, Record>)>,
}

/// When the folder is looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// As soon as may be: another process writes the first of what there is to read.
    Soon,
    /// When it is time, or somebody wakes us.
    Later,
}

/// One generation, ready to be searched.
struct Opened {
    generation: String,
    index: tantivy::Index,
    reader: IndexReader,
    fields: Fields,
}

/// What can go wrong with an index.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the folder cannot be read or written")]
    Io(#[from] io::Error),
    #[error("the index cannot be used")]
    Index(#[from] tantivy::TantivyError),
}

impl Index {
    /// An index as it is configured. Nothing is opened yet.
    pub(super) fn new(
        config: &config::Index,
        public_url: &Uri,
        parser: Pool,
    ) -> Result<Self, Problem> {
        let base = match &config.base_url {
            Some(base) => base.to_string(),
            None => format!("{}/{}", public_url.to_string().trim_end_matches('/'), config.name),
        };
        let base = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|error| {
            let name = &config.name;
            Problem::new(format!("the provider `{name}` has no usable `base_url`: {error}"))
        })?;
        Ok(Self {
            name: config.name.clone(),
            rescan: config.rescan,
            base,
            place: Place::new(config.index_folder.clone()),
            opened: ArcSwapOption::empty(),
            is_suspect: AtomicBool::new(false),
            wake: Notify::new(),
            keeper: Mutex::default(),
            parser,
            config: config.clone(),
        })
    }

    /// Whether it can be searched.
    pub(super) fn is_usable(&self) -> bool {
        self.opened.load().is_some()
    }

    /// Looks at the folder now and then, until it is told to stop.
    pub(super) async fn keep(self: Arc<Self>, stopping: CancellationToken) {
        loop {
            let (index, stop) = (self.clone(), stopping.clone());
            let looked = tokio::task::spawn_blocking(move || index.refresh(&stop)).await;
            let again = looked.unwrap_or_else(|error| {
                tracing::error!(index = self.name, %error, "an index was not refreshed");
                Again::Later
            });
            let next = async {
                tokio::time::sleep(self.rescan.min(LEAST_PAUSE)).await;
                if again == Again::Later {
                    let rest = self.rescan.saturating_sub(LEAST_PAUSE);
                    let _ = tokio::time::timeout(rest, self.wake.notified()).await;
                }
            };
            tokio::select! {
                () = stopping.cancelled() => return,
                () = next => {}
            }
        }
    }

    /// Searches it.
    pub(super) async fn search(
        self: &Arc<Self>,
        wanted: &Wanted,
    ) -> Result<Vec<Hit>, &'static str> {
        let source = canonical::host(&self.base).unwrap_or_default();
        if !wanted.allows(&source) {
            return Ok(Vec::new());
        }
        let wanted = wanted.clone();
        let found = self.with(move |opened| query::search(opened, &wanted)).await?;
        let hits = found.into_iter().map(|found| Hit {
            title: found.title,
            url: self.address(&found.path),
            snippet: found.snippet,
            published_at: found.changed,
            score: Some(found.score),
            source: source.clone(),
        });
        Ok(hits.collect())
    }

    /// The text of the document at an address, if it is one of this index.
    pub(super) async fn read(self: &Arc<Self>, url: &str) -> Option<Document> {
        let path = self.path(url)?;
        let found = self.with(move |opened| query::text_of(opened, &path)).await.ok()??;
        let (title, text) = found;
        Some(Document { title, url: url.to_owned(), text })
    }

    /// Works with what is open, where it may take its time. A failure makes the index suspect.
    async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Opened) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, &'static str> {
        let opened = self.opened.load_full().ok_or("it is not ready")?;
        let result = tokio::task::spawn_blocking(move || work(&opened)).await;
        let why = match result {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) => chain(&error),
            Err(error) => error.to_string(),
        };
        tracing::error!(index = self.name, error = why, "an index failed; it is looked at closely");
        self.is_suspect.store(true, Ordering::Release);
        self.opened.store(None);
        self.wake.notify_one();
        Err("it failed")
    }

    /// Brings it up to what is in the folder, as the writer; otherwise to what the writer wrote.
    fn refresh(&self, stopping: &CancellationToken) -> Again {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        self.try_refresh(&mut keeper, stopping).unwrap_or_else(|error| {
            tracing::warn!(index = self.name, error = chain(&error), "an index was not refreshed");
            // What is known stays of use where only the folder is gone.
            if matches!(error, Error::Index(_)) {
                self.is_suspect.store(true, Ordering::Release);
            }
            Again::Later
        })
    }

    fn try_refresh(
        &self,
        keeper: &mut Keeper,
        stopping: &CancellationToken,
    ) -> Result<Again, Error> {
        if keeper.lock.is_none() {
            keeper.lock = self.place.lock()?;
        }
        let opened = self.current();
        self.opened.store(opened.clone());
        let Some(lock) = &keeper.lock else {
            if let Some(opened) = opened {
                opened.reader.reload()?;
            } else if self.place.current().is_none() {
                return Ok(Again::Soon);
            }
            return Ok(Again::Later);
        };
        let opened = match opened {
            Some(opened) => opened,
            None => Arc::new(self.begin(lock)?),
        };
        let records = keeper.records.take().filter(|(of, _)| *of == opened.generation);
        let mut records = match records {
            Some((_, records)) => records,
            None => scan::records(&opened)?,
        };
        let source = Source {
            folder: &self.config.folder,
            max_file_bytes: self.config.max_file_bytes,
            stopping,
            parser: &self.parser,
        };
        let done = scan::scan(&source, &opened, &mut records)?;
        opened.reader.reload()?;
        if stopping.is_cancelled() {
            return Ok(Again::Later);
        }
        if self.place.current().as_ref() != Some(&opened.generation) {
            self.place.publish(lock, &opened.generation)?;
        }
        if done != scan::Done::default() {
            let scan::Done { read, removed, unreadable } = done;
            let files = records.len();
            tracing::info!(index = self.name, files, read, removed, unreadable, "an index is new");
        }
        keeper.records = Some((opened.generation.clone(), records));
        self.opened.store(Some(opened));
        Ok(Again::Later)
    }

    /// What is open, or else what the folder has, if it is whole.
    fn current(&self) -> Option<Arc<Opened>> {
        let generation = self.place.current()?;
        let is_suspect = self.is_suspect.swap(false, Ordering::AcqRel);
        let known = self.opened.load_full().filter(|known| known.generation == generation);
        if let Some(known) = known.filter(|_| !is_suspect) {
            return Some(known);
        }
        let opened = catch_unwind(AssertUnwindSafe(|| self.open(generation)));
        match opened {
            Ok(Ok(opened)) => Some(Arc::new(opened)),
            Ok(Err(why)) => {
                tracing::error!(index = self.name, why, "an index is damaged; it is made anew");
                None
            }
            Err(_) => {
                tracing::error!(index = self.name, "an index cannot be opened; it is made anew");
                None
            }
        }
    }

    /// Opens a generation, and holds all of it against its checksums.
    fn open(&self, generation: String) -> Result<Opened, String> {
        let index = tantivy::Index::open_in_dir(self.place.folder(&generation));
        let index = index.map_err(|error| error.to_string())?;
        let (schema, fields) = fields::schema();
        if index.schema() != schema {
            return Err("it has other fields".to_owned());
        }
        let damaged = index.validate_checksum().map_err(|error| error.to_string())?;
        if !damaged.is_empty() {
            return Err(format!("{} of its files are not as they were written", damaged.len()));
        }
        Opened::new(generation, index, fields).map_err(|error| chain(&error))
    }

    /// Begins a generation that has nothing in it yet.
    fn begin(&self, lock: &Lock) -> Result<Opened, Error> {
        let generation = self.place.begin(lock)?;
        let (schema, fields) = fields::schema();
        let index = tantivy::Index::create_in_dir(self.place.folder(&generation), schema)?;
        Opened::new(generation, index, fields)
    }

    /// Where a file is, for others.
    fn address(&self, path: &str) -> String {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url.into()
    }

    /// The file at an address, if it is one of this index.
    fn path(&self, address: &str) -> Option<String> {
        let url = Url::parse(address).ok()?;
        if url.origin() != self.base.origin() {
            return None;
        }
        let rest = url.path().strip_prefix(self.base.path())?;
        let bytes: Vec<u8> = percent_decoded(rest);
        String::from_utf8(bytes).ok().filter(|path| !path.is_empty())
    }
}

impl Opened {
    fn new(generation: String, index: tantivy::Index, fields: Fields) -> Result<Self, Error> {
        fields::register(&index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { generation, index, reader, fields })
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Opened")
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    out
}

#[cfg(test)]
mod tests;
