//! Tests of `answer`.

use super::*;

#[test]
fn answers_are_truncated_at_characters_with_a_note() {
    let long = "é".repeat(usize::try_from(MAX_CHARS).unwrap() + 1);
    let value = json!({"model": "a/b", "choices": [{"message": {"content": long},
        "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let (text, shown) = of(&ResultStyle::Answer, value);
    assert!(text.ends_with("[the response was truncated]"));
    assert_eq!(shown["answer"].as_str().unwrap().chars().count(), MAX_CHARS as usize);
    assert_eq!((&shown["truncated"], &shown["prompt_tokens"]), (&json!(true), &json!(3)));
    let parts = json!({"choices": [{"message": {"content": [{"type": "text", "text": "a"},
        {"type": "refusal"}, {"type": "text", "text": "b"}]}}]});
    assert_eq!(of(&ResultStyle::Answer, parts).0, "ab");
}

#[test]
fn results_and_pages_are_formatted_as_text() {
    let found = json!({"results": [{"title": "T", "url": "https://a/", "snippet": "S"}]});
    assert_eq!(of(&ResultStyle::Results, found).0, "1. T\n   https://a/\n   S\n");
    assert_eq!(of(&ResultStyle::Results, json!({"results": []})).0, "No results.");
    let read = json!({"title": "T", "final_url": "https://a/", "content": "C", "next_index": 7,
        "links": [{"text": "x", "url": "https://b/"}]});
    let (text, shown) = of(&ResultStyle::Page { has_links: false }, read.clone());
    assert_eq!(text, "T\nhttps://a/\n\nC\n\n[truncated: continue with start_index 7]");
    assert_eq!(shown["links"], json!([]));
    assert!(of(&ResultStyle::Page { has_links: true }, read).0.ends_with("- x https://b/\n"));
}

#[test]
fn a_job_shows_its_progress_and_then_its_report() {
    let of = |value: Value| super::of(&ResultStyle::Job, value).0;
    let mut value = json!({"id": "job_1", "status": "running", "report": null,
        "progress": {"step": "read", "done": 2, "total": 9}, "error": null});
    assert!(of(value.clone()).starts_with("The job job_1 is running: 2 of 9 steps are done."));
    value["status"] = json!("failed");
    value["error"] = json!({"message": "nothing was found"});
    assert_eq!(of(value.clone()), "The job job_1 has ended: failed. nothing was found");
    value["report"] = json!({"markdown": "# Report"});
    assert_eq!(of(value), "# Report");
    let made = json!({"artifacts": [{"url": "http://a/b", "media_type": "image/png",
        "bytes": 5}]});
    let (text, _) = super::of(&ResultStyle::Made, made);
    assert_eq!(text, "Generated files:\n- http://a/b (image/png, 5 bytes)\n");
}

#[test]
fn models_are_filtered_and_limited() {
    let model = |id: &str| {
        json!({"id": id, "object": "model", "created": 1, "owned_by": "a",
        "capabilities": [], "price_micros": 1, "context_length": null})
    };
    let value = json!({"data": [model("a/x"), model("a/y"), model("b/x")]});
    let of = |contains: &str, limit| {
        let shown = ResultStyle::Models { contains: contains.to_owned(), limit };
        super::of(&shown, value.clone()).1
    };
    assert_eq!(of("x", 9)["data"].as_array().unwrap().len(), 2);
    assert_eq!(of("", 2)["truncated"], json!(true));
}
