//! Tests of `log`.

use std::fs;

use usage_metrics::clock::{ManualClock, Timestamp};

use super::*;
use crate::skills::Name;

const NOW: i64 = 1_785_240_000_000;

struct Fixture {
    _folder: tempfile::TempDir,
    places: SkillFolders,
    clock: Arc<ManualClock>,
}

impl Fixture {
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

    fn log(&self) -> SkillLog {
        SkillLog::new(&self.places, Recorder::off(), self.clock.clone())
    }

    fn located(&self, name: &str) -> SkillLocation {
        self.places.at_home(&Name::parse(name).unwrap()).unwrap()
    }

    fn counted(&self, work: impl FnOnce(&mut LogEdit<'_>)) -> Vec<String> {
        let log = self.log();
        let mut page = log.open().unwrap();
        work(&mut page);
        let change =
            |event: &SkillLifecycle| format!("{} {}", event.action.text(), event.provenance.text());
        let load = |event: &SkillLoad| {
            format!(
                "{} {} {} {}",
                event.reuse_state.text(),
                event.post_patch_state.text(),
                event.use_count_bucket.text(),
                event.provenance.text()
            )
        };
        let loads = page.loads.iter().map(load);
        let counted = page.changes.iter().map(change).chain(loads).collect();
        page.close().unwrap();
        counted
    }
}

#[test]
fn skill_lifecycle_events_are_counted() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    let skill = fixture.located("a");
    assert_eq!(fixture.counted(|page| page.seen(&skill)), ["created local"]);
    assert_eq!(fixture.counted(|page| page.seen(&skill)), [""; 0]);
    let first = ["first_use not_applicable 1 local"];
    assert_eq!(fixture.counted(|page| page.used(&skill)), first);
    fixture.write("a", "Do it well.");
    let patched = ["patched local", "reused reused_after_patch 2 local"];
    assert_eq!(fixture.counted(|page| page.used(&skill)), patched);
    let later = Timestamp::from_ms(NOW + 91 * 86_400_000);
    fixture.clock.set(later);
    assert_eq!(fixture.counted(|page| page.seen(&skill)), ["stale local"]);
    assert_eq!(fixture.counted(|page| page.seen(&skill)), [""; 0]);
    let away = |page: &mut LogEdit<'_>| page.moved(&skill, State::Archived);
    assert_eq!(fixture.counted(away), ["archived local"]);
    let back = |page: &mut LogEdit<'_>| page.moved(&skill, State::Active);
    assert_eq!(fixture.counted(back), ["restored local"]);
    assert_eq!(fixture.counted(|page| page.seen(&skill)), [""; 0], "not stale at once");
}

#[test]
fn first_use_of_an_unseen_skill_counts_as_created() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    let skill = fixture.located("a");
    let both = ["created local", "first_use not_applicable 1 local"];
    assert_eq!(fixture.counted(|page| page.used(&skill)), both);
}

#[test]
fn installations_are_not_creations_and_new_versions_are_edits() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    let skill = fixture.located("a");
    let installed = |page: &mut LogEdit<'_>| page.installed(&skill, "/from", false);
    assert_eq!(fixture.counted(installed), ["installed installed"]);
    assert_eq!(fixture.counted(|page| page.seen(&skill)), [""; 0]);
    let again = |page: &mut LogEdit<'_>| page.installed(&skill, "/from", true);
    assert_eq!(fixture.counted(again), [""; 0], "the same once more is no change");
    fixture.write("a", "Do it well.");
    assert_eq!(fixture.counted(again), ["edited installed"]);
    let record = &fixture.log().records().unwrap()["a"];
    assert_eq!(record.installed.as_ref().unwrap().from, "/from");
}

#[test]
fn a_manually_restored_folder_counts_as_restored() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    let skill = fixture.located("a");
    fixture.counted(|page| page.moved(&skill, State::Archived));
    assert_eq!(fixture.counted(|page| page.seen(&skill)), ["restored local"]);
}

#[test]
fn rescanning_writes_only_changes() {
    let fixture = Fixture::new();
    let log = fixture.log();
    log.notice(&[]).unwrap();
    assert!(!fixture.places.home().exists(), "no skills, no file");
    fixture.write("a", "Do it.");
    log.notice(&fixture.places.catalogue().skills).unwrap();
    let before = fs::metadata(fixture.places.usage()).unwrap().modified().unwrap();
    log.notice(&fixture.places.catalogue().skills).unwrap();
    assert_eq!(fs::metadata(fixture.places.usage()).unwrap().modified().unwrap(), before);
}

#[test]
fn an_unparsable_file_is_reported_and_unchanged() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    fs::write(fixture.places.usage(), "{\"skills\": [").unwrap();
    let error = fixture.log().used(&fixture.located("a")).unwrap_err();
    assert!(error.line().contains("cannot parse"), "{}", error.line());
    assert_eq!(fs::read_to_string(fixture.places.usage()).unwrap(), "{\"skills\": [");
}

#[test]
fn concurrent_uses_are_summed() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    let skill = fixture.located("a");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| fixture.log().used(&skill).unwrap()));
        }
    });
    assert_eq!(fixture.log().records().unwrap()["a"].uses, 20);
}

#[test]
fn the_number_of_records_is_limited() {
    let fixture = Fixture::new();
    fixture.write("a", "Do it.");
    let log = fixture.log();
    let mut page = log.open().unwrap();
    for number in 0..MAX_RECORDS {
        let seen_ms = i64::try_from(number).unwrap();
        page.records
            .insert(format!("/p/{number}"), SkillRecord { seen_ms, ..SkillRecord::default() });
    }
    page.used(&fixture.located("a"));
    page.close().unwrap();
    let records = log.records().unwrap();
    assert_eq!(records.len(), MAX_RECORDS);
    assert!(records.contains_key("a") && !records.contains_key("/p/0"));
}
