//! A loaded model and its generation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::Sender;

use crate::file::GgufFile;
use crate::kv_cache::KvCache;
use crate::llama::{Activations, Llama, MAX_BATCH_TOKENS};
use crate::sampler::Sampler;
use crate::template::Template;
use crate::text::{Grown, Text};
use crate::thread_pool::ThreadPool;
use crate::tokenizer::Tokenizer;
use crate::{Defaults, End, Message, Piece, Refusal, Request, Result, Sampling};

/// Limits of cached conversations: number and memory.
const MAX_CACHES: usize = 8;
const MAX_CACHE_BYTES: usize = 96 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) llama: Llama,
    tokens: Tokenizer,
    template: Template,
    window: usize,
    defaults: Defaults,
    /// Conversations with their owners, the most recent last.
    caches: Mutex<Vec<(String, KvCache)>>,
}

/// The output channel. It has room for a whole answer.
pub(crate) type Out = Sender<Result<Piece>>;

/// A conversation that is ready to be answered.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) tokens: Vec<u32>,
    /// Its cached beginning.
    pub(crate) kept: KvCache,
    sampling: Sampling,
    owner: String,
}

impl Model {
    pub(crate) fn load(file: &GgufFile, window: usize, defaults: Defaults) -> Result<Self> {
        let template = Template::read(file)?;
        let (tokens, weights) = rayon::join(|| Tokenizer::read(file), || Llama::load(file));
        let llama = weights?;
        Ok(Self {
            window: window.min(llama.shape.context),
            tokens: tokens?,
            template,
            defaults,
            caches: Mutex::default(),
            llama,
        })
    }

    pub(crate) fn cache_bytes(&self) -> usize {
        self.caches().iter().map(|(_, kept)| kept.bytes()).sum()
    }

    fn caches(&self) -> MutexGuard<'_, Vec<(String, KvCache)>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens of a conversation, with its cached prefix.
    pub(crate) fn prepare(&self, request: Request) -> Result<Prompt, Refusal> {
        let Request { mut messages, sampling, owner } = request;
        let has_system = messages.first().is_some_and(|message| message.role == "system");
        if let Some(system) = &self.defaults.system
            && !has_system
        {
            messages.insert(0, Message { role: "system".to_owned(), content: system.clone() });
        }
        let text = self.template.text(&messages, &self.tokens)?;
        let tokens = self.tokens.encode(&text);
        if tokens.is_empty() || tokens.len() >= self.window {
            return Err(Refusal::TooLong { prompt: tokens.len(), window: self.window });
        }
        let kept = self.recall(&owner, &tokens);
        Ok(Prompt { tokens, kept, sampling, owner })
    }

    /// Computes the answer until it ends or its receiver is dropped.
    pub(crate) fn answer(&self, prompt: Prompt, pool: &ThreadPool, out: &Out) {
        let Prompt { tokens, kept, sampling, owner } = prompt;
        let activations = Activations::new(&self.llama.shape);
        let mut generator = Generator { model: self, pool, out, kept, activations };
        if generator.read(&tokens).is_some() {
            generator.speak(&sampling);
        }
        self.keep(owner, generator.kept);
    }

    /// The cached prefix of a conversation of this owner; the last token is always computed, since
    /// it yields the next logits.
    fn recall(&self, owner: &str, tokens: &[u32]) -> KvCache {
        let conversations = self.caches();
        let own = conversations.iter().filter(|(of, _)| of == owner);
        let common = own.map(|(_, kept)| (kept.common(tokens).min(tokens.len() - 1), kept));
        match common.max_by_key(|(common, _)| *common) {
            Some((common, kept)) if common > 0 => kept.first(common),
            _ => self.llama.nothing(),
        }
    }

    /// Caches a conversation for its next turn, within the limits.
    fn keep(&self, owner: String, mut kept: KvCache) {
        kept.shrink();
        let mut all = self.caches();
        // The extended conversation is part of it.
        all.retain(|(of, old)| *of != owner || old.common(kept.tokens()) < old.len());
        all.push((owner, kept));
        let mut memory: usize = all.iter().map(|(_, kept)| kept.bytes()).sum();
        while all.len() > MAX_CACHES || memory > MAX_CACHE_BYTES {
            memory -= all.remove(0).1.bytes();
        }
    }
}

/// An answer in progress. `None` means that its receiver was dropped.
struct Generator<'a> {
    model: &'a Model,
    pool: &'a ThreadPool,
    out: &'a Out,
    kept: KvCache,
    activations: Activations,
}

impl Generator<'_> {
    /// Computes the uncached part of the prompt.
    fn read(&mut self, prompt: &[u32]) -> Option<()> {
        prompt[self.kept.len()..].chunks(MAX_BATCH_TOKENS).try_for_each(|part| self.follow(part))
    }

    fn speak(&mut self, sampling: &Sampling) -> Option<()> {
        let Model { tokens, window, defaults, .. } = self.model;
        let room = window - self.kept.len();
        let wanted = sampling.max_tokens.map_or(room, |most| most as usize);
        let most = u32::try_from(wanted.clamp(1, room)).unwrap_or(u32::MAX);
        let mut sampler = Sampler::new(sampling, defaults);
        let mut text = Text::new(&sampling.stop);
        let mut made = 0;
        let reason = loop {
            let token = sampler.next(&mut self.activations.logits, self.kept.tokens());
            made += 1;
            if tokens.is_end(token) {
                break End::Stop;
            }
            match text.grow(tokens.piece(token)) {
                Grown::On(more) => self.say(more)?,
                Grown::Stopped(more) => {
                    self.say(more)?;
                    text = Text::new(&[]);
                    break End::Stop;
                }
            }
            if made >= most {
                break End::Length;
            }
            self.follow(&[token])?;
        };
        self.say(text.end())?;
        self.out.blocking_send(Ok(Piece::End { reason, completion_tokens: made })).ok()
    }

    fn follow(&mut self, tokens: &[u32]) -> Option<()> {
        let Self { model, pool, kept, activations, .. } = self;
        model.llama.follow(tokens, kept, activations, pool);
        (!self.out.is_closed()).then_some(())
    }

    fn say(&self, words: String) -> Option<()> {
        if words.is_empty() {
            Some(())
        } else {
            self.out.blocking_send(Ok(Piece::Text(words))).ok()
        }
    }
}
