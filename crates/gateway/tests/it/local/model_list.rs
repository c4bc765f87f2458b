//! The model says what it is wherever it is listed.

use agent_test_support::weights;
use serde_json::json;

use super::{CHAT, MODEL, provider, question, service};
use crate::fixture::with_providers;
use crate::support::{ADMIN_TOKEN, PRICE, Running};

#[test]
fn a_model_is_listed_with_the_details_of_its_file() {
    let (service, ada) = service(", window: 512");
    let listed = service.get("/v1/models/here%2Fsmol", ada.key.as_str()).good();
    assert_eq!((&listed["id"], &listed["tools"]), (&json!(MODEL), &json!(false)));
    assert_eq!(listed["context_length"], 512);
    let about = listed["description"].as_str().unwrap().to_lowercase();
    for words in ["smollm2", "apache-2.0", "135 m parameters", "q4_1", "98 mb", "no tools"] {
        assert!(about.contains(words), "{words} is not in {about}");
    }
}

#[test]
fn configured_description_wins_and_a_folder_is_discovered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    std::os::unix::fs::symlink(weights::smollm2(), &path).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no model").unwrap();
    let here = format!(
        "  here: {{kind: local, folder: \"{}\", discover: true}}\n",
        folder.path().display()
    );
    let named = format!(
        "  named: {{kind: local, models: {{own: {{path: \"{}\", description: Mine.}}}}}}\n",
        path.display()
    );
    let service = Running::start(&with_providers(&[here, named], ""));
    let ada = service.holder("ada", 1000 * PRICE);
    let listed = service.get("/v1/models", ada.key.as_str()).good();
    let listed: Vec<(&str, &str)> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| {
            (model["id"].as_str().unwrap(), model["description"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(listed[1], ("named/own", "Mine."));
    assert_eq!(listed[0].0, "here/tiny");
    assert!(listed[0].1.contains("no tools"), "{listed:?}");
    assert_eq!(listed.len(), 2);
}

#[test]
fn operator_sees_the_memory_of_local_models() {
    let text = with_providers(&[provider("")], "admin_token: ${ADMIN_TOKEN}\n");
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000 * PRICE);
    let memory = || {
        let known = service.get("/admin/v1/providers", ADMIN_TOKEN).good();
        assert_eq!(
            (&known["data"][0]["kind"], &known["data"][0]["trouble"]),
            (&json!("local"), &json!(null))
        );
        known["data"][0]["memory_bytes"].as_u64().unwrap()
    };
    assert_eq!(memory(), 0, "nothing is loaded before somebody asks");
    assert_eq!(service.post(CHAT, ada.key.as_str(), &question("hi")).status, 200);
    assert!((50_000_000..400_000_000).contains(&memory()), "{}", memory());
}
