//! Models that this process computes itself: the files of one provider, and what is known of each.

mod answer;
mod file;
mod question;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use local_model::Refusal;
use tokio::time::timeout;
use wire::error::Code;

pub(crate) use answer::Answer;
use file::File;
use question::Question;

use super::send::{Failure, Owner};
use super::{Known, Look};
use crate::config::{self, Timeouts};
use crate::failure::ApiError;

/// Whether the program was built with what computes models.
pub(crate) const HAS_LOCAL: bool = true;

/// The files of a provider.
pub(crate) struct Local {
    settings: config::Local,
    /// Those that the configuration names, by the names of their models.
    named: Vec<(String, PathBuf)>,
    /// Whether all files of the folder are models.
    discovers: bool,
    /// As they were last looked at, by the names of their models.
    files: ArcSwap<Files>,
    /// Why the folder could not be read then.
    folder_trouble: ArcSwapOption<String>,
}

type Files = BTreeMap<String, Arc<File>>;

impl Local {
    /// The files of a provider of this kind; they have not been looked at.
    pub(crate) fn open(configured: &config::Provider) -> Option<Self> {
        let file = |model: &config::Model| Some((model.upstream_name.clone(), model.path.clone()?));
        Some(Self {
            settings: configured.local.clone()?,
            named: configured.models.iter().filter_map(file).collect(),
            discovers: configured.discover,
            files: ArcSwap::default(),
            folder_trouble: ArcSwapOption::empty(),
        })
    }

    /// Looks at the files. Those that are as they were are not read again.
    pub(crate) async fn look(&self) -> Look {
        let (before, settings) = (self.files.load_full(), self.settings.clone());
        let (named, discovers) = (self.named.clone(), self.discovers);
        // A task that cannot be run any more belongs to a process that ends.
        let looked = tokio::task::spawn_blocking(move || {
            let found = discovers.then(|| file::in_folder(&settings.folder)).transpose();
            let (found, trouble) = match found {
                Ok(found) => (found.unwrap_or_default(), None),
                Err(trouble) => (Vec::new(), Some(trouble)),
            };
            let is_new = |path: &PathBuf| named.iter().all(|(_, known)| known != path);
            let found = found.into_iter().filter(|(_, path)| is_new(path));
            let all = found.chain(named.clone());
            let read = all.map(|(name, path)| {
                let known = before.values().find(|file| file.path == path).cloned();
                (name, File::read(path, known, &settings))
            });
            let after: Files = read.collect();
            let is_same = after.len() == before.len()
                && after.iter().zip(&*before).all(|((name, file), (old_name, old))| {
                    name == old_name && Arc::ptr_eq(file, old)
                });
            (after, is_same, trouble)
        });
        let Ok((files, is_same, trouble)) = looked.await else { return Look::nothing() };
        let is_good = if files.is_empty() {
            trouble.is_none()
        } else {
            files.values().any(|file| file.about.is_ok())
        };
        let is_same = is_same && self.folder_trouble.load().as_deref() == trouble.as_ref();
        if is_same {
            return Look { is_good, changed: None };
        }
        let is_found = |name: &&String| self.named.iter().all(|(known, _)| known != *name);
        let found = files.keys().filter(is_found).map(config::Model::new).collect();
        self.files.store(Arc::new(files));
        if let Some(why) = &trouble {
            tracing::warn!(why, "a folder of models cannot be used");
        }
        self.folder_trouble.store(trouble.map(Arc::new));
        Look { is_good, changed: Some(found) }
    }

    /// What is known of a model.
    pub(crate) fn known(&self, name: &str) -> Known {
        let files = self.files.load();
        let about = files.get(name).and_then(|file| file.about.as_ref().ok());
        let made_for = about.map_or(u32::MAX, |about| about.context);
        Known {
            context: self.settings.window.min(made_for).into(),
            description: about.map(file::description),
        }
    }

    /// Whether there is nothing against asking a model.
    pub(crate) fn is_usable(&self, name: &str) -> bool {
        self.files.load().get(name).is_none_or(|file| file.about.is_ok())
    }

    /// What is wrong with the files, for operators.
    pub(crate) fn trouble(&self) -> Option<String> {
        let files = self.files.load();
        let folder = self.folder_trouble.load().as_deref().cloned();
        let wrong = folder.into_iter().chain(files.values().filter_map(|file| file.trouble()));
        let wrong: Vec<String> = wrong.collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }

    /// How much memory the files and their conversations take now.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let memory = |file: &Arc<File>| {
            let memory = file.host.memory();
            memory.weights_bytes.saturating_add(memory.conversations_bytes)
        };
        self.files.load().values().map(memory).sum()
    }

    /// Answers a request of the chat interface. A stream begins with its first word, a whole answer
    /// when all of it is there; dropping either stops the work.
    pub(crate) async fn answer(
        &self,
        body: &Bytes,
        owner: Owner,
        timeouts: Timeouts,
    ) -> Result<Answer, Failure> {
        let question = Question::parse(body, owner).map_err(Failure::Unfit)?;
        let file = self.files.load().get(&question.model).cloned().ok_or(Failure::NoModel)?;
        let form = question.form();
        let begun = async {
            let generation = file.host.generate(question.request).await.map_err(failure)?;
            Answer::begin(generation, form).await
        };
        // How long others compute, this request has no part in.
        let late = Failure::Gone("its answer did not begin in time");
        let begun = timeout(timeouts.first_byte, begun).await.unwrap_or(Err(late));
        match &begun {
            Err(Failure::Unusable { cause }) => file.note(Some(cause)),
            Ok(_) => file.note(None),
            Err(_) => {}
        }
        begun
    }
}

impl Look {
    fn nothing() -> Self {
        Self { is_good: true, changed: None }
    }
}

/// Why there is no answer, in the words of the service.
fn failure(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::TooLong { prompt, window } => {
            let message = format!(
                "the conversation has {prompt} tokens, and this model takes {window} with its answer"
            );
            Failure::Unfit(ApiError::of_param(Code::ContextLengthExceeded, "messages", message))
        }
        Refusal::Template(_) => {
            let message = refusal.to_string();
            Failure::Unfit(ApiError::of_param(Code::InvalidRequest, "messages", message))
        }
        Refusal::Busy => Failure::Full,
        Refusal::Broken(problem) => Failure::Unusable { cause: problem.to_string() },
    }
}
