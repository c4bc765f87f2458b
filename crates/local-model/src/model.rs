//! A loaded model, and the answers it gives.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

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
    llama: Llama,
    tokens: Tokens,
    template: Template,
    window: usize,
    defaults: Defaults,
    /// Conversations with their owners, the latest last.
    shelf: Mutex<Vec<(String, Kept)>>,
}

/// A conversation that is ready to be answered.
#[derive(Debug)]
pub(crate) struct Prompt {
    tokens: Vec<u32>,
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
        let (tokens, llama) = rayon::join(|| Tokens::read(file), || Llama::load(file));
        let llama = llama?;
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
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.iter().map(|(_, kept)| kept.bytes()).sum()
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
        let tokens = self.tokens.encode(&text)?;
        if tokens.is_empty() || tokens.len() >= self.window {
            return Err(Refusal::TooLong { prompt: tokens.len(), window: self.window });
        }
        let kept = self.recall(&owner, &tokens);
        Ok(Prompt { tokens, kept, sampling, owner })
    }

    /// Computes the answer, until it ends or nobody listens any more.
    pub(crate) fn answer(
        &self,
        prompt: Prompt,
        crew: &Crew,
        out: &UnboundedSender<Result<Piece, Problem>>,
    ) {
        let Prompt { tokens, mut kept, sampling, owner } = prompt;
        self.speak(&tokens, &mut kept, &sampling, crew, out);
        self.keep(owner, kept);
    }

    /// Gives `None` when nobody listens any more.
    fn speak(
        &self,
        prompt: &[u32],
        kept: &mut Kept,
        sampling: &Sampling,
        crew: &Crew,
        out: &UnboundedSender<Result<Piece, Problem>>,
    ) -> Option<()> {
        let mut between = Between::new(&self.llama.shape);
        for part in prompt[kept.len()..].chunks(AT_ONCE) {
            if out.is_closed() {
                return None;
            }
            self.llama.follow(part, kept, &mut between, crew);
        }
        let room = self.window - prompt.len();
        let wanted = sampling.max_tokens.map_or(room, |most| most as usize);
        let most = u32::try_from(wanted.clamp(1, room)).unwrap_or(u32::MAX);
        let mut draw = Draw::new(sampling, &self.defaults);
        let mut text = Text::new(&sampling.stop);
        let mut made = 0;
        let reason = loop {
            let token = draw.next(&mut between.likely, kept.tokens());
            made += 1;
            if self.tokens.is_end(token) {
                break End::Stop;
            }
            match text.grow(self.tokens.piece(token)) {
                Grown::On(more) => say(out, more)?,
                Grown::Stopped(more) => {
                    say(out, more)?;
                    text = Text::new(&[]);
                    break End::Stop;
                }
            }
            if made >= most {
                break End::Length;
            }
            if out.is_closed() {
                return None;
            }
            self.llama.follow(&[token], kept, &mut between, crew);
        };
        say(out, text.end())?;
        out.send(Ok(Piece::End { reason, completion_tokens: made })).ok()
    }

    /// What is known of a conversation of this owner; the last token is always computed, since it
    /// tells what follows.
    fn recall(&self, owner: &str, tokens: &[u32]) -> Kept {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let own = shelf.iter().enumerate().filter(|(_, (of, _))| of == owner);
        let common = own.map(|(place, (_, kept))| (kept.common(tokens), place));
        let Some((common, place)) = common.max().filter(|(common, _)| *common > 0) else {
            return self.llama.nothing();
        };
        let (_, mut kept) = shelf.remove(place);
        drop(shelf);
        kept.truncate(common.min(tokens.len() - 1));
        kept
    }

    /// Keeps a conversation for its next turn, as long as there is room.
    fn keep(&self, owner: String, mut kept: Kept) {
        kept.shrink();
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.push((owner, kept));
        let mut bytes: usize = shelf.iter().map(|(_, kept)| kept.bytes()).sum();
        while shelf.len() > MAX_KEPT || bytes > MAX_KEPT_BYTES {
            bytes -= shelf.remove(0).1.bytes();
        }
    }
}

/// Says words, unless there are none.
fn say(out: &UnboundedSender<Result<Piece, Problem>>, words: String) -> Option<()> {
    if words.is_empty() { Some(()) } else { out.send(Ok(Piece::Text(words))).ok() }
}
