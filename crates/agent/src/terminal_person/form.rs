//! A form requested by a server: one typed field after the other.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use task_loop::Sanitizer;
use task_loop::person::{FormAnswer, FormRequest};
use task_loop::untrusted::excerpt;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::mcp::approval::DECISIVE_ROWS;
use crate::output::{DIM, WARNING};
use crate::prompt::ask_meanwhile;

const MAX_FIELDS: usize = 50;
const MAX_ASKED: u32 = 3;

pub(super) async fn fill(form: &FormRequest, shown: &Sanitizer) -> FormAnswer {
    let none = Map::new();
    let fields = form.schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    if fields.len() > MAX_FIELDS {
        return FormAnswer::Declined;
    }
    let required: BTreeSet<&str> = form.schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut before = format!(
        "{WARNING}The server {} asks:{WARNING:#}\n  {}\n{DIM}Do not enter passwords or other \
         secrets. Press Ctrl-D to decline.{DIM:#}\n",
        shown.line(&form.server),
        excerpt(&shown.whole(form.message.trim_end()), DECISIVE_ROWS).text.replace('\n', "\n  "),
    );
    let mut values = Map::new();
    for (name, schema) in fields {
        let is_required = required.contains(name.as_str());
        match field(&mut before, name, schema, is_required, shown).await {
            FieldInput::Value(value) => drop(values.insert(name.clone(), value)),
            FieldInput::Nothing => {}
            FieldInput::Left => return FormAnswer::Declined,
        }
    }
    match ask_meanwhile(format!("{before}Send this? [y]es, [n]o:")).await.as_deref() {
        Some("y" | "yes" | "Y") => FormAnswer::Accepted(values),
        Some(_) => FormAnswer::Declined,
        None => FormAnswer::Cancelled,
    }
}

enum FieldInput {
    Value(Value),
    Nothing,
    Left,
}

async fn field(
    before: &mut String,
    name: &str,
    schema: &Value,
    is_required: bool,
    shown: &Sanitizer,
) -> FieldInput {
    let question = question(name, schema, is_required, shown);
    for _ in 0..MAX_ASKED {
        let asked = format!("{}{question}", std::mem::take(before));
        let Some(answer) = ask_meanwhile(asked).await else { return FieldInput::Left };
        if answer.is_empty() {
            match (schema.get("default"), is_required) {
                (Some(default), _) => return FieldInput::Value(default.clone()),
                (None, false) => return FieldInput::Nothing,
                (None, true) => {
                    "  a value is required\n".clone_into(before);
                    continue;
                }
            }
        }
        match read(&answer, schema) {
            Ok(value) => return FieldInput::Value(value),
            Err(wanted) => *before = format!("  it must be {wanted}\n"),
        }
    }
    FieldInput::Left
}

fn question(name: &str, schema: &Value, is_required: bool, shown: &Sanitizer) -> String {
    let title = schema["title"].as_str().unwrap_or(name);
    let mut text = format!("  {}", shown.line(title));
    if let Some(about) = schema["description"].as_str() {
        text.push_str(&format!(" ({})", shown.line(about)));
    }
    let choices = choices(schema);
    if !choices.is_empty() {
        let words: Vec<&str> = choices.iter().map(|(_, word)| word.as_str()).collect();
        text.push_str(&format!(" [{}]", shown.line(&words.join(", "))));
    } else if schema["type"] == "boolean" {
        text.push_str(" [yes, no]");
    }
    match schema.get("default") {
        Some(default) => {
            text.push_str(&format!(" (default: {})", shown.line(&default.to_string())));
        }
        None if !is_required => text.push_str(" (optional)"),
        None => {}
    }
    text.push(':');
    text
}

/// The choices: the value, and its label.
fn choices(schema: &Value) -> Vec<(Value, String)> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let listed = schema["enum"].as_array().or_else(|| schema["items"]["enum"].as_array());
    if let Some(values) = listed {
        let names = schema["enumNames"].as_array();
        let name = |at: usize| names.and_then(|names| names.get(at)).and_then(Value::as_str);
        let all = values.iter().enumerate();
        return all.map(|(at, v)| (v.clone(), name(at).map_or(word(v), str::to_owned))).collect();
    }
    let titled = schema["oneOf"].as_array().or_else(|| schema["items"]["anyOf"].as_array());
    let titled = titled.into_iter().flatten();
    titled
        .filter_map(|one| {
            let value = one.get("const")?;
            let title = one["title"].as_str().map_or_else(|| word(value), str::to_owned);
            Some((value.clone(), title))
        })
        .collect()
}

/// Parses the typed value; the error says what is expected.
fn read(answer: &str, schema: &Value) -> Result<Value, String> {
    let choices = choices(schema);
    let chosen = |answer: &str| {
        let is_meant = |(value, word): &&(Value, String)| {
            word.eq_ignore_ascii_case(answer) || value.as_str() == Some(answer)
        };
        choices.iter().find(is_meant).map(|(value, _)| value.clone())
    };
    let words = || {
        let words: Vec<&str> = choices.iter().map(|(_, word)| word.as_str()).collect();
        format!("one of {}", words.join(", "))
    };
    match schema["type"].as_str() {
        Some("array") => {
            let parts = answer.split(',').map(str::trim).filter(|part| !part.is_empty());
            let all: Option<Vec<Value>> = parts.map(chosen).collect();
            all.map(Value::Array).ok_or_else(|| format!("a comma-separated list, each {}", words()))
        }
        _ if !choices.is_empty() => chosen(answer).ok_or_else(words),
        Some("boolean") => match settings::switch(answer) {
            Some(value) => Ok(json!(value)),
            None => Err("yes or no".to_owned()),
        },
        Some("integer") => {
            let number = answer.parse::<i64>().map_err(|_| "a whole number".to_owned())?;
            within(json!(number), schema)
        }
        Some("number") => {
            let number = answer.parse::<f64>().ok().filter(|number| number.is_finite());
            within(json!(number.ok_or("a number")?), schema)
        }
        _ => text(answer, schema),
    }
}

fn within(value: Value, schema: &Value) -> Result<Value, String> {
    let number = value.as_f64().unwrap_or_default();
    let least = schema["minimum"].as_f64().filter(|least| number < *least);
    let most = schema["maximum"].as_f64().filter(|most| number > *most);
    match (least, most) {
        (Some(least), _) => Err(format!("at least {least}")),
        (_, Some(most)) => Err(format!("at most {most}")),
        _ => Ok(value),
    }
}

fn text(answer: &str, schema: &Value) -> Result<Value, String> {
    let length = u64::try_from(answer.chars().count()).unwrap_or(u64::MAX);
    if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
        return Err(format!("at least {least} characters long"));
    }
    if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
        return Err(format!("at most {most} characters long"));
    }
    let is_fine = match schema["format"].as_str() {
        Some("email") => answer.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && host.contains('.') && !answer.contains(char::is_whitespace)
        }),
        Some("uri") => answer.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
        Some("date") => is_date(answer),
        Some("date-time") => answer.split_once('T').is_some_and(|(day, _)| is_date(day)),
        _ => true,
    };
    let format = schema["format"].as_str().unwrap_or_default();
    if is_fine { Ok(json!(answer)) } else { Err(format!("in the format `{format}`")) }
}

fn is_date(text: &str) -> bool {
    OffsetDateTime::parse(&format!("{text}T00:00:00Z"), &Rfc3339).is_ok()
}

#[cfg(test)]
mod tests;
