//! The tools of `/mcp` that make something: media and reports.

use agent_test_support::upstream::Upstream;
use http::Request;
use serde_json::{Value, json};

use crate::fixture::paid;
use crate::mcp::message;
use crate::media;
use crate::research_fixture::{JOB_PRICE, Setup, assert_sound};
use crate::support::Running;

/// The result of a tool, asked as an older client does.
#[track_caller]
pub(crate) fn call(service: &Running, key: &str, name: &str, arguments: &Value) -> Value {
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}});
    let request = Request::post("/mcp")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(asked.to_string().into_bytes());
    let answer = service.send_raw(request.unwrap());
    message(&answer)["result"].clone()
}

#[test]
fn media_are_generated_returned_and_charged() {
    let upstream = Upstream::start();
    let (service, ada) = media::service(&upstream);
    let key = ada.key.as_str();
    let arguments = json!({"model": "up/paint", "prompt": "a grey square",
        "options": {"size": "64x64"}});
    let result = call(&service, key, "generate_media", &arguments);
    assert_eq!(result["isError"], false, "{result}");
    let run = &result["structuredContent"];
    assert_eq!((&run["object"], &run["capability"]), (&json!("media.run"), &json!("image")));
    assert_eq!(result["_meta"]["agent/charge_micros"], media::MEDIA_PRICE);
    let url = run["artifacts"][0]["url"].as_str().unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains(url), "{result}");
    let shown = &result["content"][1];
    assert_eq!((&shown["type"], &shown["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(shown["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "a PNG");
    let asked = upstream.requests().pop().unwrap().json();
    assert_eq!((&asked["prompt"], &asked["size"]), (&json!("a grey square"), &json!("64x64")));
    assert_eq!(paid(&service, &ada), media::MEDIA_PRICE);

    let short = call(&service, key, "generate_media", &json!({"model": "paint", "prompt": "x"}));
    assert_eq!(short["isError"], true);
    assert!(short["content"][0]["text"].as_str().unwrap().contains("`up/paint`"), "{short}");
    let chat = call(&service, key, "generate_media", &json!({"model": "up/echo", "prompt": "x"}));
    assert_eq!(chat["_meta"]["agent/code"], "model_not_for_capability");
    assert_eq!(paid(&service, &ada), media::MEDIA_PRICE);
}

#[test]
fn a_job_is_started_awaited_and_read() {
    let setup = Setup::new("");
    let (service, ada) = setup.ready("");
    let key = ada.key.as_str();
    let asked = json!({"query": "Why is the sky blue?", "depth": "quick"});
    let started = call(&service, key, "start_research", &asked);
    assert_eq!(started["isError"], false, "{started}");
    let id = started["structuredContent"]["id"].as_str().unwrap().to_owned();
    assert!(started["content"][0]["text"].as_str().unwrap().contains(&id), "{started}");
    let wait = json!({"id": id, "wait_s": 50});
    let job = call(&service, key, "get_research", &wait);
    let shown = &job["structuredContent"];
    assert_sound(shown);
    assert_eq!(job["content"][0]["text"], shown["report"]["markdown"]);
    assert_eq!(shown["charge_micros"], JOB_PRICE);
    let missing = call(&service, key, "get_research", &json!({"id": "job_1"}));
    assert_eq!(missing["_meta"]["agent/code"], "not_found");
    let other = service.holder("eve", 0);
    let hidden = call(&service, other.key.as_str(), "get_research", &wait);
    assert_eq!(hidden["_meta"]["agent/code"], "not_found");
}
