//! A research job and a question over `/mcp` with nothing but this model and an index of files.

use std::sync::Arc;

use agent_test_support::wait::eventually;
use agent_test_support::weights;
use serde_json::{Value, json};

use super::MODEL;
use crate::mcp_tools::call;
use crate::research_fixture::{JOB_PRICE, JOBS, PAGES, assert_sound, question, started};
use crate::support::{Holder, PRICE, Running};

/// How often a job is waited for, for five seconds each.
const MAX_WAITS: usize = 48;

/// A job as it ended; this model takes its time.
fn ended(service: &Running, holder: &Holder, id: &str) -> Value {
    let path = format!("{JOBS}/{id}?wait=5");
    let looks = (0..MAX_WAITS).map(|_| service.get(&path, holder.key.as_str()).good());
    let mut ended = looks.filter(|job| job["finished_at"].is_string());
    ended.next().unwrap_or_else(|| panic!("the job {id} does not end"))
}

#[test]
fn research_and_chat_work_with_only_a_local_model() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    std::fs::create_dir(folder.path().join("files")).unwrap();
    for (name, text) in PAGES {
        std::fs::write(folder.path().join("files").join(name), text).unwrap();
    }
    let text = format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n  \
         here: {{kind: local, models: {{smol: {{path: \"{}\"}}}}, window: 1024}}\n  \
         docs: {{kind: index, folder: files, rescan: 0.05, base_url: \"https://docs.example\"}}\n\
         prices: {{default_micros: {{research: {JOB_PRICE}, chat: {PRICE}}}}}\n\
         research: {{quick: {{queries: 2, pages: 2}}}}\n",
        weights::smollm2().display(),
    );
    let service = Running::start_in(folder, &text);
    let ada = service.holder("ada", 1000 * JOB_PRICE);
    let key = ada.key.as_str();
    eventually("pages are found", || {
        let found = service.post("/v1/search", key, &json!({"query": "cheese"}));
        found.status == 200 && found.json()["results"].as_array().unwrap().len() == 1
    });
    let before = service.account(ada.member).balance.get();
    let id = started(&service, &ada, &question());
    let job = ended(&service, &ada, &id);
    // The prose is that of a very small model; its sources are those of the index.
    assert_sound(&job);
    assert_eq!((&job["model"], &job["charge_micros"]), (&json!(MODEL), &json!(JOB_PRICE)));

    let asked = json!({"model": MODEL, "prompt": "What is the capital of France?",
        "max_tokens": 24});
    let said = call(&service, key, "ask", &asked);
    assert_eq!(said["isError"], false, "{said}");
    assert!(!said["content"][0]["text"].as_str().unwrap().trim().is_empty(), "{said}");
    assert_eq!(before - service.account(ada.member).balance.get(), JOB_PRICE + PRICE);
    service.check_ledger();
}
