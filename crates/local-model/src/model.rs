//! A loaded model, and the answers it gives.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::Sender;

use crate::crew::Crew;
use crate::draw::Draw;
use crate::file::GgufFile;
use crate::kept::Kept;
use crate::llama::{AT_ONCE, Between, Llama};
use crate::template::Template;
use crate::text::{Grown, Text};
use crate::tokens::Tokens;
use crate::{Defaults, End, Message, Piece, Problem, Refusal, Request, Sampling};

/// How many conversations are kept for their next turn, and in how much memory.
const MAX_KEPT: usize = 8;
const MAX_KEPT_BYTES: usize = 96 * 1024 * 1024;

/// A model that is loaded.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) llama: Llama,
    tokens: Tokens,
    template: Template,
    window: usize,
    defaults: Defaults,
    /// Conversations with their owners, the latest last.
    shelf: Mutex<Vec<(String, Kept)>>,
}

/// Where an answer goes. The channel has room for a whole answer.
pub(crate) type Out = Sender<Result<Piece, Problem>>;

/// A conversation that is ready to be answered.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) tokens: Vec<u32>,
    kept: Kept,
    sampling: Sampling,
    owner: String,
}

impl Prompt {
    /// How many tokens it has.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// How many of them had been computed.
    pub(crate) fn cached(&self) -> usize {
        self.kept.len()
    }
}

impl Model {
    /// Loads a file.
    pub(crate) fn load(
        file: &GgufFile,
        window: usize,
        defaults: Defaults,
    ) -> Result<Self, Problem> {
        let template = Template::read(file)?;
        let (tokens, weights) = rayon::join(|| Tokens::read(file), || Llama::load(file));
        let llama = weights?;
        Ok(Self {
            window: window.min(llama.shape.context),
            tokens: tokens?,
            template,
            defaults,
            shelf: Mutex::default(),
            llama,
        })
    }

    /// How much memory the weights take.
    pub(crate) fn bytes(&self) -> usize {
        self.llama.bytes()
    }

    /// How much memory the conversations take that are kept.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.shelf().iter().map(|(_, kept)| kept.bytes()).sum()
    }

    fn shelf(&self) -> MutexGuard<'_, Vec<(String, Kept)>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens of a conversation, with what is known of it already.
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

    /// Computes the answer, until it ends or nobody listens any more.
    pub(crate) fn answer(&self, prompt: Prompt, crew: &Crew, out: &Out) {
        let Prompt { tokens, kept, sampling, owner } = prompt;
        let between = Between::new(&self.llama.shape);
        let mut talk = Talk { model: self, crew, out, kept, between };
        if talk.read(&tokens).is_some() {
            talk.speak(&sampling);
        }
        self.keep(owner, talk.kept);
    }

    /// What is known of a conversation of this owner; the last token is always computed, since it
    /// tells what follows.
    fn recall(&self, owner: &str, tokens: &[u32]) -> Kept {
        let conversations = self.shelf();
        let own = conversations.iter().filter(|(of, _)| of == owner);
        let common = own.map(|(_, kept)| (kept.common(tokens).min(tokens.len() - 1), kept));
        match common.max_by_key(|(common, _)| *common) {
            Some((common, kept)) if common > 0 => kept.first(common),
            _ => self.llama.nothing(),
        }
    }

    /// Keeps a conversation for its next turn, as long as there is room.
    fn keep(&self, owner: String, mut kept: Kept) {
        kept.shrink();
        let mut all = self.shelf();
        // What it went on from is part of it.
        all.retain(|(of, old)| *of != owner || old.common(kept.tokens()) < old.len());
        all.push((owner, kept));
        let mut memory: usize = all.iter().map(|(_, kept)| kept.bytes()).sum();
        while all.len() > MAX_KEPT || memory > MAX_KEPT_BYTES {
            memory -= all.remove(0).1.bytes();
        }
    }
}

/// A conversation that is computed. What gives `None` found that nobody listens any more.
struct Talk<'a> {
    model: &'a Model,
    crew: &'a Crew,
    out: &'a Out,
    kept: Kept,
    between: Between,
}

impl Talk<'_> {
    /// Reads the prompt, from where it is not known.
    fn read(&mut self, prompt: &[u32]) -> Option<()> {
        prompt[self.kept.len()..].chunks(AT_ONCE).try_for_each(|part| self.follow(part))
    }

    /// Answers.
    fn speak(&mut self, sampling: &Sampling) -> Option<()> {
        let Model { tokens, window, defaults, .. } = self.model;
        let room = window - self.kept.len();
        let wanted = sampling.max_tokens.map_or(room, |most| most as usize);
        let most = u32::try_from(wanted.clamp(1, room)).unwrap_or(u32::MAX);
        let mut draw = Draw::new(sampling, defaults);
        let mut text = Text::new(&sampling.stop);
        let mut made = 0;
        let reason = loop {
            let token = draw.next(&mut self.between.likely, self.kept.tokens());
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

    /// Computes some tokens.
    fn follow(&mut self, tokens: &[u32]) -> Option<()> {
        let Self { model, crew, kept, between, .. } = self;
        model.llama.follow(tokens, kept, between, crew);
        (!self.out.is_closed()).then_some(())
    }

    /// Says words, unless there are none.
    fn say(&self, words: String) -> Option<()> {
        if words.is_empty() {
            Some(())
        } else {
            self.out.blocking_send(Ok(Piece::Text(words))).ok()
        }
    }
}
