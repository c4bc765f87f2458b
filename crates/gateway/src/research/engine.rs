//! Determines the next step of a job, and runs it.
//!
//! The next step is a pure function of the finished ones. Limits end the gathering, never the job:
//! when steps, pages, tokens or time are used up, the report is written from what was found.

use std::collections::{HashMap, HashSet};

use gateway_store::{JobStep, Progress, ResearchJob};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::research::JobSource;

use super::model::{self, TokenUse};
use super::note::{self, Note};
use super::read::{self, Hit, Page};
use super::write::{self, Source};
use super::{Fault, Research, check, plan};
use crate::clock;

/// Steps that are reserved for writing and checking.
const LAST_STEPS: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub(crate) rounds: u32,
    pub(crate) queries: u32,
    pub(crate) pages: u32,
    pub(crate) steps: u32,
    pub(crate) tokens: u64,
    /// The time for gathering.
    pub(crate) seconds: u64,
}

/// The parameters of a job, without its question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) depth: String,
    pub(crate) bounds: Bounds,
    #[serde(default)]
    pub(crate) metadata: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Plan,
    Search { query: String },
    Read { hit: Hit },
    Note { url: String },
    Write,
    Check,
}

/// The stored result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Output {
    Plan { queries: Vec<String>, spent: TokenUse },
    Search { hits: Vec<Hit> },
    Read { page: Page },
    Note { url: String, notes: Vec<Note>, spent: TokenUse },
    Write { markdown: String, spent: TokenUse },
    Check { markdown: String },
}

#[derive(Debug, Default)]
pub(super) struct State {
    plans: Vec<Vec<String>>,
    /// The number of finished searches of each plan.
    searched: Vec<usize>,
    /// The hits of each search, best first.
    hits: Vec<Vec<Hit>>,
    pages: Vec<Page>,
    notes: HashMap<String, Vec<Note>>,
    draft: Option<String>,
    report: Option<String>,
    pub(super) spent: TokenUse,
    pub(super) done: u32,
}

impl Step {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Search { .. } => "search",
            Self::Read { .. } => "read",
            Self::Note { .. } => "note",
            Self::Write => "write",
            Self::Check => "check",
        }
    }
}

impl State {
    pub(super) fn from_steps(steps: &[JobStep]) -> Result<Self, Fault> {
        let mut state = Self::default();
        for step in steps {
            let output = step.output.as_deref().unwrap_or_default();
            let output = serde_json::from_slice(output)
                .map_err(|_| Fault::permanent("internal", "a stored step cannot be read"))?;
            state.add(output);
        }
        Ok(state)
    }

    pub(super) fn add(&mut self, output: Output) {
        self.done += 1;
        match output {
            Output::Plan { queries, spent } => {
                self.plans.push(queries);
                self.searched.push(0);
                self.spend(spent);
            }
            Output::Search { hits } => {
                if let Some(count) = self.searched.last_mut() {
                    *count += 1;
                }
                self.hits.push(hits);
            }
            Output::Read { page } => self.pages.push(page),
            Output::Note { url, notes, spent } => {
                self.notes.insert(url, notes);
                self.spend(spent);
            }
            Output::Write { markdown, spent } => {
                self.draft = Some(markdown);
                self.spend(spent);
            }
            Output::Check { markdown } => self.report = Some(markdown),
        }
    }

    fn spend(&mut self, spent: TokenUse) {
        self.spent.input = self.spent.input.saturating_add(spent.input);
        self.spent.output = self.spent.output.saturating_add(spent.output);
    }

    /// The next step; `None` when the report is finished.
    pub(super) fn next(&self, bounds: &Bounds, elapsed_seconds: u64) -> Option<Step> {
        if self.report.is_some() {
            return None;
        }
        if self.draft.is_some() {
            return Some(Step::Check);
        }
        let tokens = u64::try_from(self.spent.input.saturating_add(self.spent.output)).unwrap_or(0);
        let is_used_up = self.done + LAST_STEPS >= bounds.steps
            || tokens >= bounds.tokens
            || elapsed_seconds >= bounds.seconds;
        if is_used_up {
            return Some(Step::Write);
        }
        let Some((queries, searched)) = self.plans.last().zip(self.searched.last()) else {
            return Some(Step::Plan);
        };
        if let Some(query) = queries.get(*searched) {
            return Some(Step::Search { query: query.clone() });
        }
        let is_to_be_noted =
            |page: &&Page| page.text.is_some() && !self.notes.contains_key(&page.url);
        if let Some(page) = self.pages.iter().find(is_to_be_noted) {
            return Some(Step::Note { url: page.url.clone() });
        }
        if self.useful_pages() < self.share(bounds)
            && let Some(hit) = self.unread()
        {
            return Some(Step::Read { hit });
        }
        let has_rounds_left = self.plans.len() < usize::try_from(bounds.rounds).unwrap_or(1);
        if has_rounds_left && self.useful_pages() < count(bounds.pages) {
            return Some(Step::Plan);
        }
        Some(Step::Write)
    }

    /// The number of pages to read by the end of this round.
    fn share(&self, bounds: &Bounds) -> usize {
        let rounds = count(bounds.rounds).max(1);
        (count(bounds.pages) * self.plans.len()).div_ceil(rounds)
    }

    /// The number of pages that were read and have notes, or no notes yet.
    fn useful_pages(&self) -> usize {
        let is_useful = |page: &&Page| {
            page.text.is_some() && self.notes.get(&page.url).is_none_or(|notes| !notes.is_empty())
        };
        self.pages.iter().filter(is_useful).count()
    }

    /// The next page to read: the best of each search, then the second best of each.
    fn unread(&self) -> Option<Hit> {
        let known: HashSet<&str> = self.pages.iter().map(|page| page.url.as_str()).collect();
        let most = self.hits.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn =
            (0..most).flat_map(|place| self.hits.iter().filter_map(move |hits| hits.get(place)));
        in_turn.into_iter().find(|hit| !known.contains(hit.url.as_str())).cloned()
    }

    /// The pages with notes in the order of reading: their position is their number.
    fn sources(&self) -> Vec<Source> {
        let source = |page: &Page| {
            let notes = self.notes.get(&page.url).filter(|notes| !notes.is_empty())?.clone();
            Some(Source {
                title: page.title.clone(),
                url: page.url.clone(),
                fetched_at: page.fetched_at.clone(),
                sha256: page.sha256.clone(),
                text: page.text.clone()?,
                notes,
            })
        };
        self.pages.iter().filter_map(source).collect()
    }

    pub(super) fn result(&self) -> Value {
        let sources = self.sources();
        let listed: Vec<JobSource> =
            (1..).zip(&sources).map(|(number, source)| source.listed(number)).collect();
        let markdown = self.report.clone().unwrap_or_default();
        json!({ "report": { "markdown": markdown }, "sources": listed })
    }

    pub(super) fn progress(&self, bounds: &Bounds, next: Option<&Step>) -> Progress {
        let all = bounds.rounds * (1 + bounds.queries) + 2 * bounds.pages + LAST_STEPS;
        let left = match next {
            None => 0,
            Some(Step::Check) => 1,
            Some(Step::Write) => LAST_STEPS,
            Some(_) => LAST_STEPS + 1,
        };
        let total = match next {
            None | Some(Step::Check | Step::Write) => self.done + left,
            Some(_) => all.min(bounds.steps).max(self.done + left),
        };
        let step = next.map_or("completed", Step::kind).to_owned();
        Progress { step, done: self.done, total }
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Research {
    /// Runs a step; returns its result, and the details to show.
    pub(super) async fn run_step(
        &self,
        job: &ResearchJob,
        request: &Request,
        state: &State,
        step: &Step,
    ) -> Result<(Output, Value), Fault> {
        let (query, model) = (job.query.as_str(), job.model.as_str());
        let ask = |prompt: String| model::ask(&self.upstreams, model, job.member, prompt);
        Ok(match step {
            Step::Plan => {
                let count = count(request.bounds.queries);
                let notes = state.notes.values().flatten().map(|note| note.quote.clone());
                let known: Vec<String> = notes.collect();
                let answer = ask(plan::prompt(query, count, &known)).await?;
                let queries = plan::queries(&answer.text, query, count, state.plans.is_empty());
                let detail = json!({ "queries": queries });
                (Output::Plan { queries, spent: answer.spent }, detail)
            }
            Step::Search { query } => {
                let hits = read::find(&self.web, job.member, query).await?;
                let detail = json!({ "query": query, "found": hits.len() });
                (Output::Search { hits }, detail)
            }
            Step::Read { hit } => {
                let page = read::read(&self.web, job.member, hit).await;
                let detail = json!({ "url": page.url, "title": page.title, "fault": page.fault });
                (Output::Read { page }, detail)
            }
            Step::Note { url } => {
                let page = state.pages.iter().find(|page| page.url == *url);
                let text = page.and_then(|page| page.text.as_deref()).unwrap_or_default();
                let title = page.map_or("", |page| page.title.as_str());
                let window = model::window(&self.upstreams, model);
                let answer = ask(note::prompt(query, title, text, window)).await?;
                let notes = note::notes(&answer.text, query, text);
                let detail = json!({ "url": url, "quotes": notes.len() });
                (Output::Note { url: url.clone(), notes, spent: answer.spent }, detail)
            }
            Step::Write => {
                let sources = state.sources();
                if sources.is_empty() {
                    let message = "no relevant sources were found; nothing is charged";
                    return Err(Fault::permanent("no_sources", message));
                }
                let window = model::window(&self.upstreams, model);
                let answer = ask(write::prompt(query, &sources, window)).await?;
                let detail = json!({ "sources": sources.len() });
                (Output::Write { markdown: answer.text, spent: answer.spent }, detail)
            }
            Step::Check => {
                let draft = state.draft.as_deref().unwrap_or_default();
                let markdown = check::report(draft, query, &state.sources());
                let detail = json!({ "characters": markdown.chars().count() });
                (Output::Check { markdown }, detail)
            }
        })
    }
}

pub(super) fn elapsed_seconds(job: &ResearchJob) -> u64 {
    let since = job.started_at.unwrap_or(job.created_at);
    let micros = clock::now().micros().saturating_sub(since.micros());
    u64::try_from(micros).unwrap_or(0) / 1_000_000
}

#[cfg(test)]
mod tests;
