//! One model file: loaded on first use, shared by concurrent requests, unloaded when idle.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::file::GgufFile;
use crate::model::{Model, Out};
use crate::thread_pool::{Counted, ThreadPool};
use crate::{Defaults, Piece, Problem, Refusal, Request, Result};

#[derive(Debug, Clone)]
pub struct Settings {
    pub path: PathBuf,
    /// Maximum tokens of a conversation with its answer, capped at the model's context.
    pub window: u32,
    /// Maximum concurrent answers.
    pub at_once: usize,
    /// Maximum queued requests.
    pub waiting: usize,
    /// Number of threads for a single answer.
    pub threads: usize,
    /// Unload after this long without requests.
    pub idle: Duration,
    pub defaults: Defaults,
}

impl Settings {
    /// Defaults for this machine.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            path: path.into(),
            window: 2048,
            at_once: cores,
            waiting: 8,
            threads: cores,
            idle: Duration::from_mins(10),
            defaults: Defaults::default(),
        }
    }
}

#[derive(Debug)]
pub struct Host {
    shared: Arc<Shared>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// The weights; 0 unless they are loaded.
    pub weights_bytes: u64,
    /// The KV caches of conversations.
    pub conversations_bytes: u64,
}

/// An answer being generated. Dropping it stops the work within one token.
#[derive(Debug)]
pub struct Generation {
    pub prompt_tokens: u32,
    /// Tokens that were cached from the turn before.
    pub cached_tokens: u32,
    pieces: mpsc::Receiver<Result<Piece>>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    busy: Arc<AtomicUsize>,
    /// Held while the file is loaded, so that it is loaded once.
    loading: Mutex<()>,
    loaded: Mutex<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    model: Option<Arc<Model>>,
    last_use: Instant,
    /// Whether the idle timer runs.
    is_watched: bool,
}

impl Host {
    pub fn new(settings: Settings) -> Self {
        let loaded = Loaded { model: None, last_use: Instant::now(), is_watched: false };
        let shared = Shared {
            turns: Arc::new(Semaphore::new(settings.at_once.max(1))),
            waiting: AtomicUsize::new(0),
            busy: Arc::default(),
            loading: Mutex::default(),
            loaded: Mutex::new(loaded),
            settings,
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn memory(&self) -> Memory {
        let model = self.shared.loaded().model.clone();
        model.map_or_else(Memory::default, |model| Memory {
            weights_bytes: model.llama.bytes() as u64,
            conversations_bytes: model.cache_bytes() as u64,
        })
    }

    /// Waits in the queue, loads the file if necessary, and starts an answer.
    pub async fn generate(&self, request: Request) -> Result<Generation, Refusal> {
        let permit = self.shared.turn().await?;
        let (begin, has_begun) = oneshot::channel();
        // Room for a whole answer: one text a token, the rest of the text and the end. A client
        // that reads slowly does not occupy a computing slot.
        let (out, pieces) = mpsc::channel(self.shared.settings.window as usize + 2);
        let shared = self.shared.clone();
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            match ThreadPool::open(shared.settings.threads, shared.busy.clone()) {
                Ok(pool) => pool.work(|| shared.answer(request, &pool, begin, &out)),
                Err(problem) => drop(begin.send(Err(problem.into()))),
            }
            shared.watch(&runtime);
            drop(permit);
        });
        let stopped = || Refusal::Broken(Problem::new("the computation stopped unexpectedly"));
        let (prompt_tokens, cached_tokens) = has_begun.await.map_err(|_| stopped())??;
        Ok(Generation { prompt_tokens, cached_tokens, pieces })
    }
}

impl Generation {
    /// The next part; the last is [`Piece::End`].
    pub async fn next(&mut self) -> Option<Result<Piece>> {
        self.pieces.recv().await
    }
}

impl Shared {
    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a computing slot, unless the queue is full.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        if let Ok(permit) = self.turns.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let _place = Counted::below(self.settings.waiting, &self.waiting).ok_or(Refusal::Busy)?;
        self.turns.clone().acquire_owned().await.map_err(|_| Refusal::Busy)
    }

    /// The model, loaded if it is not. Other requests wait meanwhile.
    fn model(&self) -> Result<Arc<Model>> {
        let _once = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = self.loaded().model.clone() {
            return Ok(model);
        }
        let Settings { path, window, defaults, .. } = &self.settings;
        let file = GgufFile::open(path)?;
        let model = Arc::new(Model::load(&file, *window as usize, defaults.clone())?);
        self.loaded().model = Some(model.clone());
        Ok(model)
    }

    /// Reports whether an answer starts, then computes it.
    fn answer(
        &self,
        request: Request,
        pool: &ThreadPool,
        begin: oneshot::Sender<Result<(u32, u32), Refusal>>,
        out: &Out,
    ) {
        let prepared = self.model().map_err(Refusal::from).and_then(|model| {
            let prompt = model.prepare(request)?;
            Ok((model, prompt))
        });
        let (model, prompt) = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => return drop(begin.send(Err(refusal))),
        };
        let count = |tokens: usize| u32::try_from(tokens).unwrap_or(u32::MAX);
        if begin.send(Ok((count(prompt.tokens.len()), count(prompt.kept.len())))).is_ok() {
            model.answer(prompt, pool, out);
        }
    }

    /// Starts the timer that unloads an idle model.
    fn watch(self: &Arc<Self>, runtime: &tokio::runtime::Handle) {
        let mut loaded = self.loaded();
        loaded.last_use = Instant::now();
        if !loaded.is_watched {
            loaded.is_watched = true;
            runtime.spawn(let_go(Arc::downgrade(self), self.settings.idle));
        }
    }
}

async fn let_go(shared: Weak<Shared>, idle: Duration) {
    let mut wait = idle;
    loop {
        tokio::time::sleep(wait).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut loaded = shared.loaded();
        let is_used = loaded.model.as_ref().is_some_and(|model| Arc::strong_count(model) > 1);
        let since = loaded.last_use.elapsed();
        if !is_used && since >= idle {
            loaded.model = None;
            loaded.is_watched = false;
            return;
        }
        wait = if is_used { idle } else { idle.saturating_sub(since) };
    }
}
