//! An index over real files, without the service around it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent_test_support::mcp::example;
use agent_test_support::pdf::with_line;
use agent_test_support::wait::eventually;
use document_parser::{Limits, Pool, WorkerProgram};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::index::{Again, LEAST_PAUSE};
use crate::{Config, Error, Index, Match, Query};

struct Setup {
    root: TempDir,
    /// Where the pipes of the parsers are waited for. It stays: tests with a runtime of their own
    /// cannot drop it.
    runtime: &'static Runtime,
}

impl Setup {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("files")).unwrap();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        Self { root, runtime: Box::leak(Box::new(runtime)) }
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.path().join("files").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn index(&self) -> Arc<Index> {
        let config = Config {
            name: "docs".to_owned(),
            folder: self.root.path().join("files"),
            index_folder: self.root.path().join("index"),
            rescan: Duration::from_mins(1),
            max_file_bytes: 1_000_000,
        };
        let path = example("index_parse_worker");
        let program = WorkerProgram { path, arguments: Vec::new(), environment: Vec::new() };
        let _entered = self.runtime.enter();
        Arc::new(Index::new(config, Pool::new(program, Limits::default(), 2)))
    }

    /// The names of what is in the folder of the index.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path().join("index")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The file that is searched.
    fn database(&self) -> PathBuf {
        let names = self.names();
        let name = names
            .iter()
            .find(|name| Path::new(name).extension().is_some_and(|end| end == "db"))
            .unwrap();
        self.root.path().join("index").join(name)
    }

    /// All that was written to it.
    fn written(&self) -> (Vec<u8>, Vec<u8>) {
        let path = self.database();
        let journal = fs::read(path.with_extension("db-wal")).unwrap_or_default();
        (fs::read(path).unwrap(), journal)
    }
}

fn refresh(index: &Index) {
    // As the service does it, on a thread that may block.
    std::thread::scope(|scope| {
        scope.spawn(|| index.refresh());
    });
}

fn wanted(words: &str) -> Query {
    Query { text: words.to_owned(), max_results: 10, modified_since_ns: None }
}

fn matches(index: &Index, query: &Query) -> Vec<Match> {
    let database = index.opened.load_full().unwrap();
    database.with(|connection| crate::query::search(connection, query)).unwrap()
}

fn found(index: &Index, words: &str) -> Vec<String> {
    matches(index, &wanted(words)).into_iter().map(|found| found.path).collect()
}

#[test]
fn documents_of_several_scripts_are_found_with_a_snippet() {
    let setup = Setup::new();
    setup.file("de.md", "# Der Käufer\n\nDie Größe der Straße wird in Metern gemessen.");
    setup.file("ru.txt", "Москва является столицей России и крупнейшим городом.");
    setup.file("zh.txt", "全文检索引擎可以快速查找文档。猫在睡觉。");
    setup.file("ja.txt", "東京は日本の首都です。");
    setup.file("manual.pdf", with_line("How to repair a bicycle"));
    setup.file("deep/er/en.html", "<title>Tokyo &amp; more</title><p>The capital of Japan.</p>");
    let index = setup.index();
    assert!(!index.is_usable());
    refresh(&index);
    assert!(index.is_usable());
    for (query, path) in [
        ("größe", "de.md"),
        ("GROSSE STRASSE", "de.md"),
        ("kaufer", "de.md"),
        ("столицей", "ru.txt"),
        ("москва", "ru.txt"),
        ("检索", "zh.txt"),
        ("猫", "zh.txt"),
        ("首都", "ja.txt"),
        ("bicycle", "manual.pdf"),
        ("tokyo", "deep/er/en.html"),
        ("deep capital", "deep/er/en.html"),
    ] {
        assert_eq!(found(&index, query), [path], "{query}");
    }
    for query in ["nothing", "!?", "城市", "html head"] {
        let paths = found(&index, query);
        assert!(paths.is_empty() || query == "html head", "{query}: {paths:?}");
    }
    let hits = matches(&index, &wanted("straße"));
    assert_eq!(hits[0].title, "Der Käufer");
    assert!(hits[0].snippet.contains("Größe der Straße"), "{hits:?}");
    assert!(hits[0].score > 0.0 && hits[0].modified_ns > 0);
}

#[test]
fn all_words_rank_above_some_and_titles_above_text() {
    let setup = Setup::new();
    setup.file("both.txt", "apples and pears");
    setup.file("one.txt", "apples and apples and apples");
    setup.file("title.md", "# Pears\n\nabout fruit");
    let index = setup.index();
    refresh(&index);
    assert_eq!(found(&index, "apples pears"), ["both.txt"]);
    assert_eq!(found(&index, "pears")[0], "title.md");
    assert_eq!(found(&index, "fruit bananas"), ["title.md"]);
}

#[test]
fn only_new_changed_and_removed_files_are_indexed() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    setup.file("b.txt", "beta");
    let index = setup.index();
    refresh(&index);
    let before = setup.written();
    refresh(&index);
    assert!(setup.written() == before, "nothing was written where nothing has changed");

    setup.file("c.txt", "gamma");
    setup.file("b.txt", "delta");
    fs::remove_file(setup.root.path().join("files/a.txt")).unwrap();
    refresh(&index);
    assert_eq!(found(&index, "alpha beta"), Vec::<String>::new());
    assert_eq!(
        (found(&index, "gamma"), found(&index, "delta")),
        (vec!["c.txt".into()], vec!["b.txt".into()])
    );

    // The same time and size, but other words.
    let path = setup.root.path().join("files/c.txt");
    let changed = fs::metadata(&path).unwrap().modified().unwrap();
    setup.file("c.txt", "gAmmb");
    fs::File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
    refresh(&index);
    assert_eq!(found(&index, "gammb"), ["c.txt"], "what was changed just now is read again");

    // Another time, but the same words: nothing is written.
    let before = setup.written();
    let other = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().write(true).open(&path).unwrap().set_modified(other).unwrap();
    refresh(&index);
    assert!(setup.written() == before);
}

#[test]
fn indexed_files_are_not_read_again_by_the_next_process() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let old = SystemTime::now() - Duration::from_hours(1);
    let path = setup.root.path().join("files/a.txt");
    fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let first = setup.index();
    refresh(&first);
    drop(first);
    let before = setup.written();
    let second = setup.index();
    refresh(&second);
    assert!(setup.written() == before);
    assert_eq!(found(&second, "alpha"), ["a.txt"]);
    setup.file("a.txt", "omega");
    refresh(&second);
    assert_eq!((found(&second, "omega").len(), found(&second, "alpha").len()), (1, 0));
}

#[test]
fn recency_uses_the_modification_time() {
    let setup = Setup::new();
    setup.file("new.txt", "words");
    setup.file("old.txt", "words");
    let old = SystemTime::now() - Duration::from_hours(24 * 40);
    let path = setup.root.path().join("files/old.txt");
    fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    let index = setup.index();
    refresh(&index);
    let with = |days: Option<u64>| {
        let since = |days| SystemTime::now() - Duration::from_hours(24 * days);
        let since = days.map(|days| since(days).duration_since(UNIX_EPOCH).unwrap().as_nanos());
        let modified_since_ns = since.map(|nanos| i64::try_from(nanos).unwrap());
        matches(&index, &Query { modified_since_ns, ..wanted("words") }).len()
    };
    assert_eq!((with(None), with(Some(31)), with(Some(366))), (2, 1, 2));
}

#[test]
fn hidden_linked_unsupported_and_large_files_are_skipped() {
    let setup = Setup::new();
    setup.file(".hidden.txt", "secret");
    setup.file(".git/config.txt", "secret");
    setup.file("program.exe", "secret");
    setup.file("large.txt", "secret ".repeat(200_000));
    fs::write(setup.root.path().join("outside.txt"), "secret").unwrap();
    let link = setup.root.path().join("files/link.txt");
    std::os::unix::fs::symlink(setup.root.path().join("outside.txt"), link).unwrap();
    std::os::unix::fs::symlink(setup.root.path(), setup.root.path().join("files/up")).unwrap();
    setup.file("seen.txt", "open");
    let index = setup.index();
    refresh(&index);
    assert_eq!(found(&index, "secret open"), ["seen.txt"]);
    // A file that grows over the limit is found no more.
    setup.file("seen.txt", "open ".repeat(300_000));
    refresh(&index);
    assert_eq!(found(&index, "open"), Vec::<String>::new());
}

#[test]
fn one_process_writes_and_others_read_its_index() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let (first, second) = (setup.index(), setup.index());
    refresh(&second);
    assert!(second.is_usable());
    refresh(&first);
    assert!(first.is_usable(), "it reads what the other wrote");
    assert!(first.writing.lock().unwrap().lock.is_none());
    setup.file("b.txt", "beta");
    refresh(&first);
    assert_eq!(found(&first, "beta"), Vec::<String>::new(), "it is not the one who writes");
    refresh(&second);
    refresh(&first);
    assert_eq!(found(&first, "beta"), ["b.txt"]);
    drop(second);
    setup.file("c.txt", "gamma");
    refresh(&first);
    assert_eq!(found(&first, "gamma"), ["c.txt"], "it took over");
}

#[tokio::test]
async fn a_reader_does_not_wait_long_for_the_writer() {
    let setup = Setup::new();
    setup.file("a.md", "Apples.");
    let index = setup.index();
    let writer = index.folder.lock().unwrap().unwrap();
    let stopping = CancellationToken::new();
    assert_eq!(index.scan(&stopping), Again::Soon);
    let keeping = tokio::spawn(index.clone().keep(stopping.clone()));
    tokio::time::sleep(LEAST_PAUSE / 2).await; // sleep: it looks, and finds nothing
    assert!(!index.is_usable());
    drop(writer);
    // Much sooner than the folder is looked at again.
    let waiting = index.clone();
    tokio::task::spawn_blocking(move || eventually("it is found", || waiting.is_usable()))
        .await
        .unwrap();
    stopping.cancel();
    keeping.await.unwrap();
}

/// Flips the bits of the byte that says of what kind the first page is.
fn harm(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[100] ^= 0xff;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_index_is_rebuilt() {
    type Harm = fn(&Path);
    let harm: [(&str, Harm); 5] = [
        ("a byte of a page", harm),
        ("cut off", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("empty", |path| fs::write(path, b"").unwrap()),
        ("no meaning", |path| fs::write(path, b"{").unwrap()),
        ("nothing at all", |path| fs::remove_file(path).unwrap()),
    ];
    for (what, harm) in harm {
        let setup = Setup::new();
        setup.file("a.txt", "alpha beta");
        refresh(&setup.index());
        let before = setup.database();
        harm(&before);
        let index = setup.index();
        refresh(&index);
        assert_eq!(found(&index, "alpha"), ["a.txt"], "{what}");
        assert_ne!(setup.database(), before, "{what}");
        assert!(!before.exists(), "{what}");
        drop(index);
        assert_eq!(setup.names().len(), 2, "lock and one database");
    }
}

#[tokio::test]
async fn an_index_with_a_failing_search_is_checked_and_rebuilt() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let index = setup.index();
    refresh(&index);
    let before = setup.database();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    index.with(move |connection| Ok(connection.execute_batch(checkpoint)?)).await.unwrap();
    // Another file under the same name: readers that have the first one open keep it.
    let other = setup.root.path().join("harmed");
    fs::copy(&before, &other).unwrap();
    harm(&other);
    fs::rename(&other, &before).unwrap();
    refresh(&index);
    assert_eq!(setup.database(), before, "nothing has failed so far");
    let failed = index.with(|_| -> Result<(), Error> { panic!("on purpose") }).await;
    assert!(failed.is_err() && !index.is_usable());
    refresh(&index);
    assert!(index.is_usable() && setup.database() != before);
    assert_eq!(found(&index, "alpha"), ["a.txt"]);
}

#[test]
fn a_missing_folder_does_not_empty_the_index() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let index = setup.index();
    refresh(&index);
    let (there, away) = (setup.root.path().join("files"), setup.root.path().join("away"));
    fs::rename(&there, &away).unwrap();
    refresh(&index);
    assert!(index.is_usable());
    assert_eq!(found(&index, "alpha"), ["a.txt"]);
    fs::rename(&away, &there).unwrap();
    refresh(&index);
    assert_eq!(found(&index, "alpha"), ["a.txt"]);
}

#[test]
fn hostile_files_are_skipped_and_others_found() {
    let setup = Setup::new();
    setup.file("good.txt", "alpha");
    setup.file(
        "broken.pdf",
        b"%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 1 0 R>> endobj trailer<</Root 1 0 R>>",
    );
    setup.file("not.pdf", "just text, alpha");
    setup.file("deep.html", "<div>".repeat(100_000) + "alpha");
    setup.file("binary.txt", b"\0\x01\x02alpha");
    setup.file("lines.txt", vec![b'a'; 900_000]);
    setup.file("name\u{202e} with %41 & ü?#.txt", "alpha strange");
    let index = setup.index();
    refresh(&index);
    let paths = found(&index, "alpha");
    assert!(paths.contains(&"good.txt".to_owned()), "{paths:?}");
    assert!(
        !paths.iter().any(|path| ["broken.pdf", "not.pdf", "binary.txt"].contains(&path.as_str())),
        "{paths:?}"
    );
    let strange = "name\u{202e} with %41 & ü?#.txt";
    assert_eq!(found(&index, "strange"), [strange]);
}
