//! Usage records of skills: one file for all processes, and counters.
//!
//! Everything is written before it is counted, so that each event is counted once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use usage_metrics::catalogue::{SkillAction, SkillLifecycle, SkillLoad};
use usage_metrics::clock::Clock;
use usage_metrics::mapping::skill::{action, load};
use usage_metrics::recorder::Recorder;

use super::catalogue::{Skill, SkillLocation};
use super::folders::SkillFolders;
use super::record::{Installed, SkillRecord, State};
use crate::config;
use crate::config::lock::{self, Lock};
use crate::diagnostic::{Diagnostic, ErrorContext, Result};

/// Maximum number of skill records; the least recently touched ones are dropped.
const MAX_RECORDS: usize = 2000;

#[derive(Debug, Clone)]
pub(crate) struct SkillLog {
    path: PathBuf,
    recorder: Recorder,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    skills: BTreeMap<String, SkillRecord>,
}

impl SkillLog {
    pub(crate) fn new(places: &SkillFolders, recorder: Recorder, clock: Arc<dyn Clock>) -> Self {
        Self { path: places.usage(), recorder, clock }
    }

    pub(crate) fn records(&self) -> Result<BTreeMap<String, SkillRecord>> {
        let Some(text) = config::read(&self.path)? else { return Ok(BTreeMap::new()) };
        let message = format!("cannot parse {}", self.path.display());
        let wrong = Diagnostic::configuration(message)
            .hint("remove it; the use of skills is then counted from zero");
        Ok(serde_json::from_str::<File>(&text).or_diagnostic(wrong)?.skills)
    }

    /// Opens it for writing, with an exclusive lock.
    pub(crate) fn open(&self) -> Result<LogEdit<'_>> {
        let lock = lock::take(&self.path)?;
        let records = self.records()?;
        Ok(LogEdit { log: self, records, changes: Vec::new(), loads: Vec::new(), _lock: lock })
    }

    /// Updates the records of the existing skills: new ones, and ones that became stale.
    pub(crate) fn notice(&self, skills: &[Skill]) -> Result {
        let records = self.records()?;
        let now = self.clock.now();
        let is_news = |skill: &&Skill| match records.get(&skill.located.key()) {
            None => true,
            Some(record) => record.state == State::Archived || record.is_becoming_stale(now),
        };
        let news: Vec<&Skill> = skills.iter().filter(is_news).collect();
        if news.is_empty() {
            return Ok(());
        }
        let mut page = self.open()?;
        for skill in news {
            page.seen(&skill.located);
        }
        page.close()
    }

    pub(crate) fn used(&self, skill: &SkillLocation) -> Result {
        let mut page = self.open()?;
        page.used(skill);
        page.close()
    }
}

#[derive(Debug)]
pub(crate) struct LogEdit<'a> {
    log: &'a SkillLog,
    records: BTreeMap<String, SkillRecord>,
    /// Counted once everything is written.
    changes: Vec<SkillLifecycle>,
    loads: Vec<SkillLoad>,
    _lock: Lock,
}

impl LogEdit<'_> {
    /// Updates the record of a skill that exists: new, returned or stale.
    pub(crate) fn seen(&mut self, skill: &SkillLocation) {
        let now = self.log.clock.now();
        let key = skill.key();
        let mut record = self.records.remove(&key);
        let mut counted = None;
        let record = record.get_or_insert_with(|| {
            counted = action("created");
            SkillRecord::new(&skill.folder.digests(), now)
        });
        if record.state == State::Archived {
            // It was restored by hand.
            counted = record.becomes(State::Active);
        } else if record.is_becoming_stale(now) {
            counted = record.becomes(State::Stale);
        }
        self.hold(skill, record.clone(), counted);
    }

    fn used(&mut self, skill: &SkillLocation) {
        self.seen(skill);
        let Some(mut record) = self.records.remove(&skill.key()) else { return };
        let (provenance, now) = (skill.provenance(&record), self.log.clock.now());
        let (facts, change) = record.used(&skill.folder.digests(), now, provenance);
        self.hold(skill, record, change);
        self.loads.extend(load(&facts));
    }

    /// Records an installation: of a new skill, or of another version.
    pub(crate) fn installed(&mut self, skill: &SkillLocation, from: &str, is_update: bool) {
        let now = self.log.clock.now();
        let digests = skill.folder.digests();
        let known = self.records.remove(&skill.key()).filter(|_| is_update);
        let (mut record, counted) = match known {
            Some(mut record) => {
                let counted = record.replaced(&digests, now);
                (record, counted)
            }
            None if is_update => (SkillRecord::new(&digests, now), action("update")),
            None => (SkillRecord::new(&digests, now), action("installed")),
        };
        record.installed = Some(Installed { from: from.to_owned(), at_ms: now.as_ms() });
        record.state = State::Active;
        self.hold(skill, record, counted);
    }

    pub(crate) fn moved(&mut self, skill: &SkillLocation, to: State) {
        let from = if to == State::Archived { State::Active } else { State::Archived };
        let known = self.records.remove(&skill.key());
        let now = self.log.clock.now();
        let mut record = known.unwrap_or_else(|| SkillRecord::new(&skill.folder.digests(), now));
        if record.state == to {
            // The record is older than the change of the folders.
            record.state = from;
        }
        let counted = record.becomes(to);
        if to == State::Active && record.is_becoming_stale(now) {
            // A restored skill is wanted: it must not be stale on the same day.
            record.seen_ms = now.as_ms();
        }
        self.hold(skill, record, counted);
    }

    fn hold(&mut self, skill: &SkillLocation, record: SkillRecord, counted: Option<SkillAction>) {
        let provenance = skill.provenance(&record);
        self.changes.extend(counted.map(|action| SkillLifecycle { action, provenance }));
        self.records.insert(skill.key(), record);
        while self.records.len() > MAX_RECORDS {
            let oldest = self.records.iter().min_by_key(|(_, record)| record.touched_ms());
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.records.remove(&oldest);
        }
    }

    pub(crate) fn close(self) -> Result {
        let file = File { skills: self.records };
        let text = serde_json::to_string_pretty(&file).unwrap_or_default();
        config::write(&self.log.path, &(text + "\n"))?;
        self.changes.iter().for_each(|change| self.log.recorder.count(change));
        self.loads.iter().for_each(|load| self.log.recorder.count(load));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
