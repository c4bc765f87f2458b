//! What happens to skills: kept in one file for all processes, and counted.
//!
//! Everything is written before it is counted, so that what happens once is counted once.

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
use crate::diagnostic::Diagnostic;

/// The most skills that are remembered; those that were not touched for the longest time go.
const MAX_RECORDS: usize = 2000;

/// Keeps and counts.
#[derive(Debug, Clone)]
pub(crate) struct SkillLog {
    path: PathBuf,
    recorder: Recorder,
    clock: Arc<dyn Clock>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    skills: BTreeMap<String, SkillRecord>,
}

impl SkillLog {
    pub(crate) fn new(places: &SkillFolders, recorder: Recorder, clock: Arc<dyn Clock>) -> Self {
        Self { path: places.usage(), recorder, clock }
    }

    /// What is kept, by the keys of the skills.
    pub(crate) fn records(&self) -> Result<BTreeMap<String, SkillRecord>, Diagnostic> {
        let Some(text) = config::read(&self.path)? else { return Ok(BTreeMap::new()) };
        let file: File = serde_json::from_str(&text).map_err(|error| {
            Diagnostic::configuration(format!("cannot understand {}", self.path.display()))
                .because(&error)
                .hint("remove it: the use of skills is counted from nothing then")
        })?;
        Ok(file.skills)
    }

    /// Opens it for writing; others wait meanwhile.
    pub(crate) fn open(&self) -> Result<LogEdit<'_>, Diagnostic> {
        let lock = lock::take(&self.path)?;
        let records = self.records()?;
        Ok(LogEdit { diary: self, records, counts: Vec::new(), _lock: lock })
    }

    /// Looks at the skills there are: which are new, and which have become stale.
    pub(crate) fn notice(&self, skills: &[Skill]) -> Result<(), Diagnostic> {
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

    /// A skill is loaded.
    pub(crate) fn used(&self, skill: &SkillLocation) -> Result<(), Diagnostic> {
        let mut page = self.open()?;
        page.used(skill);
        page.close()
    }
}

/// The diary, open for writing.
#[derive(Debug)]
pub(crate) struct LogEdit<'a> {
    diary: &'a SkillLog,
    records: BTreeMap<String, SkillRecord>,
    /// What is counted once all is written.
    counts: Vec<Count>,
    _lock: Lock,
}

#[derive(Debug)]
enum Count {
    Lifecycle(SkillLifecycle),
    Load(SkillLoad),
}

impl LogEdit<'_> {
    /// A skill is there: perhaps for the first time, perhaps again, perhaps for too long unused.
    pub(crate) fn seen(&mut self, skill: &SkillLocation) {
        let now = self.diary.clock.now();
        let key = skill.key();
        let mut record = self.records.remove(&key);
        let mut counted = None;
        let record = record.get_or_insert_with(|| {
            counted = action("created");
            SkillRecord::new(&skill.folder.digests(), now)
        });
        if record.state == State::Archived {
            // Somebody brought it back by hand.
            counted = record.becomes(State::Active);
        } else if record.is_becoming_stale(now) {
            counted = record.becomes(State::Stale);
        }
        self.hold(skill, record.clone(), counted);
    }

    fn used(&mut self, skill: &SkillLocation) {
        self.seen(skill);
        let Some(mut record) = self.records.remove(&skill.key()) else { return };
        let used = record.used(&skill.folder.digests(), self.diary.clock.now());
        let load = load(&used.facts(skill.provenance(&record)));
        self.hold(skill, record, used.change);
        self.counts.extend(load.map(Count::Load));
    }

    /// A skill was installed, where none was or in the place of another version.
    pub(crate) fn installed(&mut self, skill: &SkillLocation, from: &str, is_update: bool) {
        let now = self.diary.clock.now();
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

    /// A skill was put away, or brought back.
    pub(crate) fn moved(&mut self, skill: &SkillLocation, to: State) {
        let from = if to == State::Archived { State::Active } else { State::Archived };
        let known = self.records.remove(&skill.key());
        let now = self.diary.clock.now();
        let mut record = known.unwrap_or_else(|| SkillRecord::new(&skill.folder.digests(), now));
        if record.state == to {
            // The file is behind what was done with the folders.
            record.state = from;
        }
        let counted = record.becomes(to);
        if to == State::Active && record.is_becoming_stale(now) {
            // Whoever brings it back wants it: it is not stale on the same day.
            record.seen_ms = now.as_ms();
        }
        self.hold(skill, record, counted);
    }

    fn hold(&mut self, skill: &SkillLocation, record: SkillRecord, counted: Option<SkillAction>) {
        let provenance = skill.provenance(&record);
        self.counts
            .extend(counted.map(|action| Count::Lifecycle(SkillLifecycle { action, provenance })));
        self.records.insert(skill.key(), record);
        while self.records.len() > MAX_RECORDS {
            let oldest = self.records.iter().min_by_key(|(_, record)| record.touched_ms());
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.records.remove(&oldest);
        }
    }

    /// Writes what was changed, then counts it.
    pub(crate) fn close(self) -> Result<(), Diagnostic> {
        let file = File { skills: self.records };
        let text = serde_json::to_string_pretty(&file).unwrap_or_default();
        config::write(&self.diary.path, &(text + "\n"))?;
        for count in &self.counts {
            match count {
                Count::Lifecycle(event) => self.diary.recorder.count(event),
                Count::Load(event) => self.diary.recorder.count(event),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use usage_metrics::clock::{ManualClock, Timestamp};

    use super::*;
    use crate::skills::name::Name;

    const NOW: i64 = 1_785_240_000_000;

    struct Ground {
        _folder: tempfile::TempDir,
        places: SkillFolders,
        clock: Arc<ManualClock>,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let places = SkillFolders::of(folder.path().join("skills"), None, None);
            let clock = Arc::new(ManualClock::at(Timestamp::from_ms(NOW)));
            Self { _folder: folder, places, clock }
        }

        fn write(&self, name: &str, body: &str) {
            let path = self.places.home().join(name);
            fs::create_dir_all(&path).unwrap();
            let text = format!("---\nname: {name}\ndescription: x\n---\n{body}\n");
            fs::write(path.join("SKILL.md"), text).unwrap();
        }

        fn diary(&self) -> SkillLog {
            SkillLog::new(&self.places, Recorder::off(), self.clock.clone())
        }

        fn located(&self, name: &str) -> SkillLocation {
            self.places.at_home(&Name::parse(name).unwrap()).unwrap()
        }

        /// What a page would count.
        fn counted(&self, work: impl FnOnce(&mut LogEdit<'_>)) -> Vec<String> {
            let diary = self.diary();
            let mut page = diary.open().unwrap();
            work(&mut page);
            let told = |count: &Count| match count {
                Count::Lifecycle(event) => {
                    format!("{} {}", event.action.text(), event.provenance.text())
                }
                Count::Load(event) => format!(
                    "{} {} {} {}",
                    event.reuse_state.text(),
                    event.post_patch_state.text(),
                    event.use_count_bucket.text(),
                    event.provenance.text()
                ),
            };
            let counted = page.counts.iter().map(told).collect();
            page.close().unwrap();
            counted
        }
    }

    #[test]
    fn a_life_of_a_skill_is_counted_step_by_step() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        let skill = ground.located("a");
        assert_eq!(ground.counted(|page| page.seen(&skill)), ["created local"]);
        assert_eq!(ground.counted(|page| page.seen(&skill)), [""; 0]);
        let first = ["first_use not_applicable 1 local"];
        assert_eq!(ground.counted(|page| page.used(&skill)), first);
        ground.write("a", "Do it well.");
        let patched = ["patched local", "reused reused_after_patch 2 local"];
        assert_eq!(ground.counted(|page| page.used(&skill)), patched);
        let later = Timestamp::from_ms(NOW + 91 * 86_400_000);
        ground.clock.set(later);
        assert_eq!(ground.counted(|page| page.seen(&skill)), ["stale local"]);
        assert_eq!(ground.counted(|page| page.seen(&skill)), [""; 0]);
        let away = |page: &mut LogEdit<'_>| page.moved(&skill, State::Archived);
        assert_eq!(ground.counted(away), ["archived local"]);
        let back = |page: &mut LogEdit<'_>| page.moved(&skill, State::Active);
        assert_eq!(ground.counted(back), ["restored local"]);
        assert_eq!(ground.counted(|page| page.seen(&skill)), [""; 0], "not stale at once");
    }

    #[test]
    fn what_is_used_before_it_was_seen_is_new_too() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        let skill = ground.located("a");
        let both = ["created local", "first_use not_applicable 1 local"];
        assert_eq!(ground.counted(|page| page.used(&skill)), both);
    }

    #[test]
    fn an_installed_skill_is_not_created_and_a_new_version_is_an_edit() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        let skill = ground.located("a");
        let installed = |page: &mut LogEdit<'_>| page.installed(&skill, "/from", false);
        assert_eq!(ground.counted(installed), ["installed installed"]);
        assert_eq!(ground.counted(|page| page.seen(&skill)), [""; 0]);
        let again = |page: &mut LogEdit<'_>| page.installed(&skill, "/from", true);
        assert_eq!(ground.counted(again), [""; 0], "the same once more is no change");
        ground.write("a", "Do it well.");
        assert_eq!(ground.counted(again), ["edited installed"]);
        let record = &ground.diary().records().unwrap()["a"];
        assert_eq!(record.installed.as_ref().unwrap().from, "/from");
    }

    #[test]
    fn a_folder_that_was_moved_back_by_hand_is_restored() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        let skill = ground.located("a");
        ground.counted(|page| page.moved(&skill, State::Archived));
        assert_eq!(ground.counted(|page| page.seen(&skill)), ["restored local"]);
    }

    #[test]
    fn noticing_writes_only_news() {
        let ground = Ground::new();
        let diary = ground.diary();
        diary.notice(&[]).unwrap();
        assert!(!ground.places.home().exists(), "no skills, no file");
        ground.write("a", "Do it.");
        diary.notice(&ground.places.catalogue().skills).unwrap();
        let before = fs::metadata(ground.places.usage()).unwrap().modified().unwrap();
        diary.notice(&ground.places.catalogue().skills).unwrap();
        assert_eq!(fs::metadata(ground.places.usage()).unwrap().modified().unwrap(), before);
    }

    #[test]
    fn a_file_that_makes_no_sense_is_told_and_kept() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        fs::write(ground.places.usage(), "{\"skills\": [").unwrap();
        let error = ground.diary().used(&ground.located("a")).unwrap_err();
        assert!(error.line().contains("cannot understand"), "{}", error.line());
        assert_eq!(fs::read_to_string(ground.places.usage()).unwrap(), "{\"skills\": [");
    }

    #[test]
    fn uses_of_many_processes_add_up() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        let skill = ground.located("a");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| ground.diary().used(&skill).unwrap()));
            }
        });
        assert_eq!(ground.diary().records().unwrap()["a"].uses, 20);
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let ground = Ground::new();
        ground.write("a", "Do it.");
        let diary = ground.diary();
        let mut page = diary.open().unwrap();
        for number in 0..MAX_RECORDS {
            let seen_ms = i64::try_from(number).unwrap();
            page.records
                .insert(format!("/p/{number}"), SkillRecord { seen_ms, ..SkillRecord::default() });
        }
        page.used(&ground.located("a"));
        page.close().unwrap();
        let records = diary.records().unwrap();
        assert_eq!(records.len(), MAX_RECORDS);
        assert!(records.contains_key("a") && !records.contains_key("/p/0"));
    }
}
