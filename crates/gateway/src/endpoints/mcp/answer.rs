//! The result of a tool call: a text for the model and structured content. Pure.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::tools::{Answered, MAX_CHARS};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResultStyle {
    AsItIs,
    /// The models whose ids contain a text, up to a limit.
    Models {
        contains: String,
        limit: u32,
    },
    Answer,
    Results,
    Page {
        has_links: bool,
    },
    Made,
    Job,
}

pub(super) fn of(shown: &ResultStyle, value: Value) -> (String, Value) {
    match shown {
        ResultStyle::AsItIs => (value.to_string(), value),
        ResultStyle::Models { contains, limit } => models(value, contains, *limit),
        ResultStyle::Answer => answer(&value),
        ResultStyle::Results => (results(&value), value),
        ResultStyle::Page { has_links } => page(value, *has_links),
        ResultStyle::Made => (artifact_list(&value), value),
        ResultStyle::Job => (job(&value), value),
    }
}

fn models(mut value: Value, contains: &str, limit: u32) -> (String, Value) {
    let mut data = match value["data"].take() {
        Value::Array(models) => models,
        _ => Vec::new(),
    };
    data.retain(|model| model["id"].as_str().is_some_and(|id| id.contains(contains)));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let truncated = data.len() > limit;
    data.truncate(limit);
    // The fields of `Listed`; its models are already JSON.
    let value = json!({"data": data, "truncated": truncated});
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
        text.push_str("\n[the response was truncated]");
    }
    (text, json!(answered))
}

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
        return "No results.".to_owned();
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
        let _ = write!(text, "\n\n[truncated: continue with start_index {next}]");
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

fn artifact_list(value: &Value) -> String {
    let mut text = String::from("Generated files:\n");
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
            "The job {id} is {status}: {done} of {total} steps are done. Check again with \
             get_research."
        ),
        _ => format!("The job {id} has ended: {status}. {}", word(&value["error"]["message"])),
    }
}

#[cfg(test)]
mod tests;
