//! Files that cannot be used: the service starts, says so, and takes up what becomes good.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use agent_test_support::wait::eventually;
use agent_test_support::weights;
use serde_json::{Value, json};

use super::{CHAT, question, with};
use crate::fixture::{paid, with_providers};
use crate::support::{ADMIN_TOKEN, PRICE, Running};

/// A service with a model of each of these files.
fn service(files: &[(&str, &Path)]) -> Running {
    let models = files.iter().map(|(id, path)| format!("{id}: {{path: \"{}\"}}", path.display()));
    let models: Vec<String> = models.collect();
    let here = format!(
        "  here: {{kind: local, models: {{{}}}, health: {{interval: 0.05}}}}\n",
        models.join(", ")
    );
    Running::start(&with_providers(&[here], "admin_token: ${ADMIN_TOKEN}\n"))
}

fn provider(service: &Running) -> Value {
    service.get("/admin/v1/providers", ADMIN_TOKEN).good()["data"][0].clone()
}

#[test]
fn invalid_model_file_is_reported_and_another_one_answers() {
    let folder = tempfile::tempdir().unwrap();
    let [absent, cut, nonsense] =
        ["absent", "cut", "nonsense"].map(|name| folder.path().join(format!("{name}.gguf")));
    let mut head = vec![0; 4_000_000];
    File::open(weights::smollm2()).unwrap().read_exact(&mut head).unwrap();
    File::create(&cut).unwrap().write_all(&head).unwrap();
    std::fs::write(&nonsense, "this is no model").unwrap();
    let good = weights::smollm2();
    let files = [("absent", &*absent), ("cut", &*cut), ("nonsense", &*nonsense), ("good", &*good)];
    let service = service(&files);
    let ada = service.holder("ada", 1000 * PRICE);
    for id in ["absent", "cut", "nonsense"] {
        let asked = with(question("hi"), &json!({"model": format!("here/{id}")}));
        let answer = service.post(CHAT, ada.key.as_str(), &asked);
        assert_eq!(answer.failure(), (503, "capability_unavailable".to_owned()), "{id}");
        assert!(!answer.text().contains(".gguf"), "{}", answer.text());
        let trouble = provider(&service)["trouble"].as_str().unwrap().to_owned();
        assert!(trouble.contains(&format!("{id}.gguf: ")), "{trouble}");
    }
    let known = service.get("/v1/capabilities", ada.key.as_str()).good();
    let chat = &known["data"][0];
    let usable: Vec<&Value> =
        chat["models"].as_array().unwrap().iter().map(|model| &model["usable"]).collect();
    assert_eq!(usable, [false, false, true, false]);
    let asked = with(question("hi"), &json!({"model": "here/good"}));
    assert_eq!(service.post(CHAT, ada.key.as_str(), &asked).status, 200);
    assert_eq!(provider(&service)["health"], "usable");
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn model_files_are_loaded_and_unloaded_as_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.gguf");
    let service = service(&[("late", &path)]);
    let ada = service.holder("ada", 1000 * PRICE);
    let asked = with(question("hi"), &json!({"model": "here/late"}));
    let status = || service.post(CHAT, ada.key.as_str(), &asked).status;
    assert_eq!((status(), &provider(&service)["health"]), (503, &json!("probe_failed")));
    std::os::unix::fs::symlink(weights::smollm2(), &path).unwrap();
    eventually("it answers", || status() == 200);
    let known = provider(&service);
    assert_eq!((&known["usable"], &known["trouble"]), (&json!(true), &json!(null)), "{known}");
    std::fs::remove_file(&path).unwrap();
    eventually("it is known to be gone", || status() == 503);
    service.check_ledger();
}

#[test]
fn a_folder_and_its_files_may_be_created_later() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    let here = format!(
        "  here: {{kind: local, folder: \"{}\", discover: true, health: {{interval: 0.05}}}}\n",
        models.display()
    );
    let service = Running::start(&with_providers(&[here], "admin_token: ${ADMIN_TOKEN}\n"));
    let ada = service.holder("ada", 1000 * PRICE);
    let known = provider(&service);
    assert_eq!((&known["usable"], &known["models"]), (&json!(false), &json!([])));
    let trouble = format!("cannot read {}: ", models.display());
    assert!(known["trouble"].as_str().unwrap().starts_with(&trouble), "{known}");
    std::fs::create_dir(&models).unwrap();
    eventually("the folder is there", || provider(&service)["trouble"].is_null());
    std::os::unix::fs::symlink(weights::smollm2(), models.join("tiny.gguf")).unwrap();
    eventually("the file is there", || provider(&service)["models"] == json!(["here/tiny"]));
    let asked = with(question("hi"), &json!({"model": "here/tiny"}));
    assert_eq!(service.post(CHAT, ada.key.as_str(), &asked).status, 200);
}
