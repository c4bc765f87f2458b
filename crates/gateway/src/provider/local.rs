//! Local models: the model files of one provider.

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

use file::File;
use question::Question;

use super::Owner;
use super::failure::Failure;
use super::{LocalAnswer, LocalScan};
use crate::config::{self, Timeouts};
use crate::failure::ApiError;

pub(crate) struct Local {
    settings: config::Local,
    named: Vec<(String, PathBuf)>,
    discovers: bool,
    /// The files of the last scan by model name.
    files: ArcSwap<Files>,
    folder_trouble: ArcSwapOption<String>,
}

type Files = BTreeMap<String, Arc<File>>;

impl Local {
    /// The files of a provider, before their first scan.
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

    /// Scans the files. Unchanged ones are not read again.
    pub(crate) async fn scan(&self) -> LocalScan {
        let (before, settings) = (self.files.load_full(), self.settings.clone());
        let (named, discovers) = (self.named.clone(), self.discovers);
        // The task fails only when the process ends.
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
        let Ok((files, is_same, trouble)) = looked.await else {
            return LocalScan { is_good: true, changed: None };
        };
        let is_good = if files.is_empty() {
            trouble.is_none()
        } else {
            files.values().any(|file| file.about.is_ok())
        };
        let is_same = is_same && self.folder_trouble.load().as_deref() == trouble.as_ref();
        if is_same {
            return LocalScan { is_good, changed: None };
        }
        let is_found = |name: &&String| self.named.iter().all(|(known, _)| known != *name);
        let found = files.keys().filter(is_found).map(config::Model::new).collect();
        self.files.store(Arc::new(files));
        if let Some(why) = &trouble {
            tracing::warn!(why, "cannot use a model folder");
        }
        self.folder_trouble.store(trouble.map(Arc::new));
        LocalScan { is_good, changed: Some(found) }
    }

    /// Context length and description of a model; no description if its file cannot be used.
    pub(crate) fn model_info(&self, name: &str) -> (u64, Option<String>) {
        let files = self.files.load();
        let about = files.get(name).and_then(|file| file.about.as_ref().ok());
        let made_for = about.map_or(u32::MAX, |about| about.context);
        (self.settings.window.min(made_for).into(), about.map(file::description))
    }

    /// Whether a model can be used, as far as known.
    pub(crate) fn is_usable(&self, name: &str) -> bool {
        self.files.load().get(name).is_none_or(|file| file.about.is_ok())
    }

    pub(crate) fn problem(&self) -> Option<String> {
        let files = self.files.load();
        let folder = self.folder_trouble.load().as_deref().cloned();
        let wrong = folder.into_iter().chain(files.values().filter_map(|file| file.problem()));
        let wrong: Vec<String> = wrong.collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let memory = |file: &Arc<File>| {
            let memory = file.host.memory();
            memory.weights_bytes.saturating_add(memory.conversations_bytes)
        };
        self.files.load().values().map(memory).sum()
    }

    /// Answers a chat request. A stream begins with its first token, a whole answer when it is
    /// complete; dropping either stops the generation.
    pub(crate) async fn answer(
        &self,
        body: &Bytes,
        owner: Owner,
        timeouts: Timeouts,
    ) -> Result<LocalAnswer, Failure> {
        let question = Question::parse(body, owner).map_err(Failure::Unfit)?;
        let file = self.files.load().get(&question.form.model).cloned().ok_or(Failure::NoModel)?;
        let begun = async {
            let generation = file.host.generate(question.request).await.map_err(failure)?;
            answer::begin(generation, question.form).await
        };
        // The wait for other requests is not a failure of this one.
        let late = Failure::Gone("the response did not start in time");
        let begun = timeout(timeouts.first_byte, begun).await.unwrap_or(Err(late));
        match &begun {
            Err(Failure::Unusable { cause }) => file.note(Some(cause)),
            Ok(_) => file.note(None),
            Err(_) => {}
        }
        begun
    }
}

fn failure(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::TooLong { prompt, window } => {
            let message = format!(
                "the conversation has {prompt} tokens; the limit of this model is {window} \
                 including the response"
            );
            Failure::Unfit(ApiError::of_param(Code::ContextLengthExceeded, "messages", message))
        }
        Refusal::Template(_) => {
            let message = refusal.to_string();
            Failure::Unfit(ApiError::invalid("messages", message))
        }
        Refusal::Busy => Failure::Full,
        Refusal::Broken(problem) => Failure::Unusable { cause: problem.to_string() },
    }
}
