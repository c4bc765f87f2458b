//! An index of the operator's files, searched over HTTP.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use agent_test_support::wait::eventually;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::paid;
use crate::support::{Holder, PRICE, Running};

struct Setup {
    folder: Arc<TempDir>,
}

impl Setup {
    fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("files")).unwrap();
        Self { folder }
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join("files").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn start(&self, more: &str) -> (Running, Holder) {
        let service = Running::start_in(self.folder.clone(), &configuration("files", more));
        // The second start finds the members of the first.
        let ada = service.holder(&format!("ada {}", service.address), 1000 * PRICE);
        (service, ada)
    }

    /// The database of the index.
    fn database(&self) -> PathBuf {
        let entries = fs::read_dir(self.folder.path().join("search-index/docs")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|end| end == "db")).unwrap()
    }
}

fn configuration(folder: &str, more: &str) -> String {
    format!(
        "listen: 127.0.0.1:0\n\
         public_url: https://ai.example.com\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n  docs: {{kind: index, folder: \"{folder}\", rescan: 0.02{more}}}\n\
         search: {{cache_seconds: 0}}\n\
         prices: {{default_micros: {{search: {PRICE}}}}}\n"
    )
}

fn search(service: &Running, holder: &Holder, query: &str) -> Option<Value> {
    let body = json!({"query": query});
    let answer = service.post("/v1/search", holder.key.as_str(), &body);
    (answer.status == 200).then(|| answer.json())
}

fn urls(service: &Running, holder: &Holder, query: &str) -> Vec<String> {
    let answer = search(service, holder, query).unwrap_or_default();
    let results = answer["results"].as_array().cloned().unwrap_or_default();
    results.iter().map(|result| result["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn files_are_found_with_title_url_and_snippet() {
    let setup = Setup::new();
    setup.file("guide/Erste Schritte.md", "# Erste Schritte\n\nDie Größe des Lagers zählt.");
    setup.file("ru.txt", "Москва является столицей России.");
    setup.file("zh.txt", "全文检索引擎可以快速查找文档。");
    let (service, ada) = setup.start("");
    eventually("it is there", || search(&service, &ada, "größe").is_some());
    let answer = search(&service, &ada, "GRÖSSE").unwrap();
    let result = &answer["results"][0];
    assert_eq!(
        (&answer["provider"], answer["results"].as_array().unwrap().len()),
        (&json!("docs"), 1)
    );
    assert_eq!(result["title"], "Erste Schritte");
    assert_eq!(result["url"], "https://ai.example.com/docs/guide/Erste%20Schritte.md");
    assert_eq!(result["source"], "ai.example.com");
    assert!(result["snippet"].as_str().unwrap().contains("Größe des Lagers"), "{result}");
    assert!(result["score"].as_f64().unwrap() > 0.0 && result["published_at"].is_string());
    assert_eq!(urls(&service, &ada, "столицей"), ["https://ai.example.com/docs/ru.txt"]);
    assert_eq!(urls(&service, &ada, "检索引擎"), ["https://ai.example.com/docs/zh.txt"]);
    let before = paid(&service, &ada);
    assert!(before >= 3 * PRICE, "{before}");
    assert_eq!(search(&service, &ada, "nothing").unwrap()["results"], json!([]));
    let elsewhere = json!({"query": "größe", "domains": {"include": ["example.org"]}});
    let answer = service.post("/v1/search", ada.key.as_str(), &elsewhere).good();
    assert_eq!(answer["results"], json!([]));
    assert_eq!(paid(&service, &ada), before, "searches without results are free");
}

#[test]
fn indexed_documents_are_read_from_the_index() {
    let setup = Setup::new();
    setup.file("a/b.md", "# Storage\n\nThe **shed** is < 3 m wide.");
    let (service, ada) = setup.start("");
    eventually("it is there", || !urls(&service, &ada, "shed").is_empty());
    let url = urls(&service, &ada, "shed").remove(0);
    let read = |format: &str| {
        let body = json!({"url": url, "format": format});
        service.post("/v1/web/fetch", ada.key.as_str(), &body).good()
    };
    let page = read("markdown");
    assert_eq!(page["title"], "Storage");
    assert!(page["content"].as_str().unwrap().contains("shed"), "{page}");
    assert_eq!((&page["final_url"], &page["status"]), (&json!(url), &json!(200)));
    let html = read("html");
    assert!(html["content"].as_str().unwrap().starts_with("<pre>"), "{html}");
    assert!(html["content"].as_str().unwrap().contains("&lt; 3 m"), "{html}");
    // A file beside it is not in the index, and is fetched from its address.
    let beside = json!({"url": url.replace("b.md", "c.md")});
    let answer = service.post("/v1/web/fetch", ada.key.as_str(), &beside);
    assert_ne!(answer.status, 200);
}

#[test]
fn file_changes_are_indexed_while_running() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let (service, ada) = setup.start(", base_url: \"https://docs.example.org/x/\"");
    let is = |query: &str, wanted: &[&str]| urls(&service, &ada, query) == wanted;
    eventually("a", || is("alpha", &["https://docs.example.org/x/a.txt"]));
    setup.file("b.txt", "beta");
    eventually("b is new", || is("beta", &["https://docs.example.org/x/b.txt"]));
    setup.file("b.txt", "gamma");
    eventually("b has changed", || is("beta", &[]) && !is("gamma", &[]));
    fs::remove_file(setup.folder.path().join("files/a.txt")).unwrap();
    eventually("a is gone", || is("alpha", &[]));
}

#[test]
fn a_damaged_index_is_rebuilt_at_the_next_start() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let (service, ada) = setup.start("");
    eventually("it is there", || !urls(&service, &ada, "alpha").is_empty());
    service.stop();
    let before = setup.database();
    let mut bytes = fs::read(&before).unwrap();
    bytes[0] ^= 0xff;
    fs::write(&before, bytes).unwrap();
    let (service, ada) = setup.start("");
    eventually("it is there again", || !urls(&service, &ada, "alpha").is_empty());
    assert_ne!(setup.database(), before);
}

#[test]
fn processes_share_an_index_and_another_takes_over_writing() {
    let setup = Setup::new();
    setup.file("a.txt", "alpha");
    let (first, ada) = setup.start("");
    eventually("the first has it", || !urls(&first, &ada, "alpha").is_empty());
    let shared = setup.folder.path().join("search-index/docs").display().to_string();
    let files = setup.folder.path().join("files").display().to_string();
    let other = Running::start(&configuration(&files, &format!(", index_folder: \"{shared}\"")));
    let bob = other.holder("bob", 1000 * PRICE);
    eventually("the other has it too", || !urls(&other, &bob, "alpha").is_empty());
    setup.file("b.txt", "beta");
    eventually("both find what is new", || {
        !urls(&first, &ada, "beta").is_empty() && !urls(&other, &bob, "beta").is_empty()
    });
    first.stop();
    setup.file("c.txt", "gamma");
    eventually("the other writes now", || !urls(&other, &bob, "gamma").is_empty());
    assert_eq!(urls(&other, &bob, "alpha").len(), 1);
}

#[test]
fn hostile_files_are_skipped() {
    let setup = Setup::new();
    setup.file(
        "bad.pdf",
        b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 1 0 R>>endobj trailer<</Root 1 0 R>>",
    );
    setup.file("also.pdf", vec![0xff; 100_000]);
    setup.file("deep.html", "<div><b>".repeat(100_000) + "alpha");
    setup.file("wide.html", format!("<p {}>alpha", "a=1 ".repeat(1000)));
    setup.file("binary.txt", [0; 1000]);
    setup.file("good.txt", "alpha");
    let (service, ada) = setup.start("");
    eventually("the good one is found", || {
        urls(&service, &ada, "alpha").iter().any(|url| url.ends_with("/good.txt"))
    });
    assert_eq!(service.get("/healthz", "").status, 200);
}

#[test]
fn a_folder_created_later_is_indexed() {
    let setup = Setup::new();
    fs::remove_dir(setup.folder.path().join("files")).unwrap();
    let (service, ada) = setup.start("");
    assert_eq!(search(&service, &ada, "alpha"), None);
    setup.file("a.txt", "alpha");
    eventually("it is found", || !urls(&service, &ada, "alpha").is_empty());
}
