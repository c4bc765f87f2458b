//! The result of a tool call: a text for the model and structured content. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::tools::{Answered, Listed, MAX_CHARS};

/// How a response is presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResultStyle {
    /// Unchanged.
    AsItIs,
    /// The models whose ids contain a text, up to a limit.
    Models {
        contains: String,
        limit: u32,
    },
    /// The answer of a model.
    Answer,
    /// Search results.
    Results,
    Page {
        has_links: bool,
    },
    /// Media files.
    Made,
    Job,
}

/// The text and the structured content of a result.
pub(super) fn of(shown: &ResultStyle, value: Value) -> (String, Value) {
    match shown {
        ResultStyle::AsItIs => (value.to_string(), value),
        ResultStyle::Models { contains, limit } => models(value, contains, *limit),
        ResultStyle::Answer => answer(&value),
        ResultStyle::Results => (results(&value), value),
        ResultStyle::Page { has_links } => page(value, *has_links),
        ResultStyle::Made => (made(&value), value),
        ResultStyle::Job => (job(&value), value),
    }
}

fn models(mut value: Value, contains: &str, limit: u32) -> (String, Value) {
    let mut data =
        serde_json::from_value::<Vec<wire::model::Model>>(value["data"].take()).unwrap_or_default();
    data.retain(|model| model.id.contains(contains));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let truncated = data.len() > limit;
    data.truncate(limit);
    let value = json!(Listed { data, truncated });
    (value.to_string(), value)
}

fn answer(value: &Value) -> (String, Value) {
    let choice = &value["choices"][0];
    let whole = text_of(&choice["message"]["content"]);
    let (answer, truncated) = cut(&whole);
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let answered = Answered {
        answer: answer.to_owned(),
        model: word(&value["model"]).unwrap_or_default(),
        finish_reason: word(&choice["finish_reason"]),
        truncated,
        prompt_tokens: value["usage"]["prompt_tokens"].as_u64(),
        completion_tokens: value["usage"]["completion_tokens"].as_u64(),
    };
    let mut text = answered.answer.clone();
    if truncated {
        text.push_str("\n[the answer was longer]");
    }
    (text, json!(answered))
}

/// The text of a content: a string, or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn cut(text: &str) -> (&str, bool) {
    let end = text.char_indices().nth(usize::try_from(MAX_CHARS).unwrap_or(usize::MAX));
    match end {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), true),
        None => (text, false),
    }
}

fn results(value: &Value) -> String {
    let results = value["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    if results.is_empty() {
        return "Nothing was found.".to_owned();
    }
    let mut text = String::new();
    for (number, result) in (1..).zip(results) {
        let word = |name: &str| result[name].as_str().unwrap_or_default();
        let (title, url, snippet) = (word("title"), word("url"), word("snippet"));
        let _ = writeln!(text, "{number}. {title}\n   {url}\n   {snippet}");
    }
    text
}

fn page(mut value: Value, has_links: bool) -> (String, Value) {
    if !has_links {
        value["links"] = json!([]);
    }
    let word = |name: &str| value[name].as_str().unwrap_or_default();
    let mut text = String::new();
    if !word("title").is_empty() {
        let _ = writeln!(text, "{}", word("title"));
    }
    let _ = write!(text, "{}\n\n{}", word("final_url"), word("content"));
    if let Some(next) = value["next_index"].as_u64() {
        let _ = write!(text, "\n\n[there is more: ask again with start_index {next}]");
    }
    if let Some(links) = value["links"].as_array().filter(|links| !links.is_empty()) {
        text.push_str("\n\nLinks:\n");
        for link in links {
            let word = |name: &str| link[name].as_str().unwrap_or_default();
            let _ = writeln!(text, "- {} {}", word("text"), word("url"));
        }
    }
    (text, value)
}

fn made(value: &Value) -> String {
    let mut text = String::from("Made:\n");
    for file in value["artifacts"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let word = |name: &str| file[name].as_str().unwrap_or_default();
        let (url, kind, bytes) = (word("url"), word("media_type"), &file["bytes"]);
        let _ = writeln!(text, "- {url} ({kind}, {bytes} bytes)");
    }
    text
}

fn job(value: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(report) = value["report"]["markdown"].as_str() {
        return report.to_owned();
    }
    let (id, status) = (word(&value["id"]), word(&value["status"]));
    let progress = &value["progress"];
    let (done, total) = (&progress["done"], &progress["total"]);
    match status.as_str() {
        "queued" | "running" => format!(
            "The job {id} is {status}: {done} of {total} steps are done. Ask again with \
             get_research."
        ),
        _ => format!("The job {id} is {status}. {}", word(&value["error"]["message"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_cut_between_characters_and_says_so() {
        let long = "é".repeat(usize::try_from(MAX_CHARS).unwrap() + 1);
        let value = json!({"model": "a/b", "choices": [{"message": {"content": long},
            "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
        let (text, shown) = of(&ResultStyle::Answer, value);
        assert!(text.ends_with("[the answer was longer]"));
        assert_eq!(shown["answer"].as_str().unwrap().chars().count(), MAX_CHARS as usize);
        assert_eq!((&shown["truncated"], &shown["prompt_tokens"]), (&json!(true), &json!(3)));
        let parts = json!({"choices": [{"message": {"content": [{"type": "text", "text": "a"},
            {"type": "refusal"}, {"type": "text", "text": "b"}]}}]});
        assert_eq!(of(&ResultStyle::Answer, parts).0, "ab");
    }

    #[test]
    fn results_and_pages_read_well() {
        let found = json!({"results": [{"title": "T", "url": "https://a/", "snippet": "S"}]});
        assert_eq!(of(&ResultStyle::Results, found).0, "1. T\n   https://a/\n   S\n");
        assert_eq!(of(&ResultStyle::Results, json!({"results": []})).0, "Nothing was found.");
        let read = json!({"title": "T", "final_url": "https://a/", "content": "C", "next_index": 7,
            "links": [{"text": "x", "url": "https://b/"}]});
        let (text, shown) = of(&ResultStyle::Page { has_links: false }, read.clone());
        assert_eq!(text, "T\nhttps://a/\n\nC\n\n[there is more: ask again with start_index 7]");
        assert_eq!(shown["links"], json!([]));
        assert!(of(&ResultStyle::Page { has_links: true }, read).0.ends_with("- x https://b/\n"));
    }

    #[test]
    fn a_job_says_how_it_goes_and_then_what_came_out() {
        let of = |value: Value| super::of(&ResultStyle::Job, value).0;
        let mut value = json!({"id": "job_1", "status": "running", "report": null,
            "progress": {"step": "read", "done": 2, "total": 9}, "error": null});
        assert!(of(value.clone()).starts_with("The job job_1 is running: 2 of 9 steps are done."));
        value["status"] = json!("failed");
        value["error"] = json!({"message": "nothing was found"});
        assert_eq!(of(value.clone()), "The job job_1 is failed. nothing was found");
        value["report"] = json!({"markdown": "# Report"});
        assert_eq!(of(value), "# Report");
        let made = json!({"artifacts": [{"url": "http://a/b", "media_type": "image/png",
            "bytes": 5}]});
        let (text, _) = super::of(&ResultStyle::Made, made);
        assert_eq!(text, "Made:\n- http://a/b (image/png, 5 bytes)\n");
    }

    #[test]
    fn models_are_chosen_and_bounded() {
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
}
