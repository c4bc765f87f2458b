//! Sections of a schema, for the reference page and error hints.

use serde_json::Value as Json;

use super::{Schema, names};

#[derive(Debug, Clone)]
pub struct DocumentedSection {
    /// Its path in the file, `*` for a name that the operator chooses; empty for the file itself.
    pub name: String,
    pub about: String,
    pub keys: Vec<DocumentedKey>,
}

#[derive(Debug, Clone)]
pub struct DocumentedKey {
    pub name: String,
    /// The type of its value as text.
    pub kind: String,
    /// Its default in YAML; empty if there is none.
    pub default: String,
    pub meaning: String,
    /// The kinds of sections that it is for; empty for all.
    pub kinds: Vec<String>,
}

impl Schema {
    /// All sections, outer ones first.
    pub fn sections(&self) -> Vec<DocumentedSection> {
        let mut sections = Vec::new();
        collect(&self.0, "", &mut sections);
        sections
    }

    /// The chapters of the reference page; `title` is for the outermost mapping.
    pub fn chapters(&self, title: &str) -> String {
        let title = |name: &str| if name.is_empty() { title } else { "" };
        let sections = self.sections().into_iter();
        sections.map(|section| section.chapter(title(&section.name)) + "\n").collect()
    }

    /// The path of the first section with this key.
    pub(crate) fn section_with(&self, name: &str) -> Option<String> {
        let sections = self.sections();
        let found = sections.iter().find(|section| section.keys.iter().any(|key| key.name == name));
        found.map(|section| section.name.clone())
    }
}

impl DocumentedSection {
    /// The chapter of the reference page, with a heading if `title` is not empty.
    fn chapter(&self, title: &str) -> String {
        let title = match title {
            "" => format!("`{}`", self.name.replace('*', "NAME")),
            title => title.to_owned(),
        };
        let has_kinds = self.keys.iter().any(|key| !key.kinds.is_empty());
        let (head, line) = if has_kinds { (" for |", "---|") } else { ("", "") };
        let rows: Vec<String> = self.keys.iter().map(|key| key.row(has_kinds)).collect();
        format!(
            "## {title}\n\n{}\n\n| key | type |{head} default | meaning |\n|---|---|{line}---|---|\n{}",
            self.about,
            rows.concat()
        )
    }
}

impl DocumentedKey {
    fn row(&self, with_kinds: bool) -> String {
        let Self { name, kind, default, meaning, kinds } = self;
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        let kinds = match kinds.as_slice() {
            _ if !with_kinds => String::new(),
            [] => "all | ".to_owned(),
            kinds => format!("{} | ", kinds.join(", ")),
        };
        format!("| `{name}` | {kind} | {kinds}{default} | {meaning} |\n")
    }
}

/// The chapter about limits of the reference page.
pub fn limits_table(limits: &[(&str, String)]) -> String {
    let rows: Vec<_> = limits.iter().map(|(what, most)| format!("| {what} | {most} |\n")).collect();
    format!("## Limits\n\n| item | maximum |\n|---|---|\n{}", rows.concat())
}

fn collect(schema: &Json, path: &str, sections: &mut Vec<DocumentedSection>) {
    let dotted = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    if schema.get("properties").is_some() {
        let keys = names(schema).map(|name| documented(name, schema));
        let about = one_line(&schema["x-about"]);
        sections.push(DocumentedSection { name: path.to_owned(), about, keys: keys.collect() });
        let mut before: Vec<&str> = Vec::new();
        for name in names(schema) {
            let inner = &schema["properties"][name];
            // Several keys of the same struct share a section.
            let is_same = |other: &str| {
                let other_about = &schema["properties"][other]["x-about"];
                other != name && other_about.is_string() && *other_about == inner["x-about"]
            };
            if !before.iter().any(|other| is_same(other)) {
                let is_shared = names(schema).any(is_same);
                collect(inner, &dotted(if is_shared { "*" } else { name }), sections);
            }
            before.push(name);
        }
    }
    for inner in [&schema["additionalProperties"], &schema["items"]] {
        if inner.is_object() {
            collect(inner, &dotted("*"), sections);
        }
    }
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        collect(alternative, path, sections);
    }
}

fn documented(name: &str, section: &Json) -> DocumentedKey {
    let schema = &section["properties"][name];
    let default = match &schema["default"] {
        Json::Null => String::new(),
        Json::Number(number) if number.as_f64() != Some(0.0) => {
            format!("{}{}", number.as_f64().unwrap_or_default(), unit(schema))
        }
        Json::String(text) => text.clone(),
        Json::Object(keys) if !keys.is_empty() => String::new(),
        default => default.to_string().replace(',', ", "),
    };
    // In sections with a tag, the meaning of the keys says it.
    let kinds = schema["x-kinds"].as_array().filter(|_| section.get("x-tag").is_none());
    let kinds = kinds.into_iter().flatten();
    DocumentedKey {
        name: name.to_owned(),
        kind: kind(schema),
        default,
        meaning: one_line(&schema["description"]),
        kinds: kinds.filter_map(Json::as_str).map(str::to_owned).collect(),
    }
}

fn one_line(text: &Json) -> String {
    text.as_str().unwrap_or_default().replace('\n', " ")
}

/// The unit letter of a duration; empty for other values.
fn unit(schema: &Json) -> &'static str {
    match schema["x-unit"].as_u64() {
        Some(1) => "s",
        Some(60) => "m",
        Some(3600) => "h",
        Some(86400) => "d",
        _ => "",
    }
}

fn kind(schema: &Json) -> String {
    if schema.get("x-unit").is_some() {
        return "duration".to_owned();
    }
    if let Some(words) = schema["x-type"].as_str() {
        return words.to_owned();
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        return alternatives.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(short) = schema["x-short"].as_str() {
        return format!("{} or mapping", kind(&schema["properties"][short]));
    }
    match schema["type"].as_str().unwrap_or_default() {
        "string" if schema["format"] == "path" && schema["x-text"] != true => "path",
        "boolean" => "bool",
        "object" => "mapping",
        "array" => "list",
        other => other,
    }
    .to_owned()
}
