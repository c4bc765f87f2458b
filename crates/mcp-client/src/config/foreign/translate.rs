//! Conversion of one entry of another client, key by key.

use serde_json::{Map, Value as Json};
use settings::map_references;

use super::super::schema;
use super::{Found, Kind};

/// Timeouts from here on are milliseconds, in a text of unknown origin.
const MILLISECONDS_FROM: f64 = 1000.0;

struct Translation {
    kind: Kind,
    entry: Map<String, Json>,
    notes: Vec<String>,
    unusable: Option<&'static str>,
}

pub(super) fn translate(
    name: &str,
    theirs: &Map<String, Json>,
    scope: Option<&String>,
    kind: Kind,
) -> Found {
    let (entry, notes, unusable) = (Map::new(), Vec::new(), None);
    let mut translation = Translation { kind, entry, notes, unusable };
    for (key, value) in theirs {
        if !value.is_null() {
            translation.key(key, value);
        }
    }
    translation.complete();
    let Translation { mut entry, mut notes, unusable, .. } = translation;
    for value in entry.values_mut() {
        rewrite(value, &mut notes);
    }
    notes.sort();
    notes.dedup();
    let (name, scope, entry) = (name.to_owned(), scope.cloned(), Json::Object(entry));
    Found { name, scope, entry, notes, unusable }
}

impl Translation {
    fn key(&mut self, key: &str, value: &Json) {
        match key {
            _ if self.theirs(key, value) => {}
            "command" | "args" | "env" | "cwd" | "url" | "headers" | "enabled" => {
                self.set(key, value);
            }
            "serverUrl" | "httpUrl" => self.set("url", value),
            "http_headers" => self.merge("headers", value),
            "type" | "transport" => self.transport(value),
            "disabled" => match value.as_bool() {
                Some(disabled) => self.set("enabled", &Json::Bool(!disabled)),
                None => self.left_out(key),
            },
            "timeout" => self.timeout(value),
            "oauth" | "auth" if is_foreign_oauth(value) => self.oauth(value),
            // In other clients the same name may have another meaning.
            _ if self.has_our_keys() && schema().names().any(|known| known == key) => {
                self.set(key, value);
            }
            "oauth" if value.is_object() => self.oauth(value),
            _ => self.left_out(key),
        }
    }

    fn has_our_keys(&self) -> bool {
        matches!(self.kind, Kind::Pasted | Kind::Hermes)
    }

    fn transport(&mut self, value: &Json) {
        match value.as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
            "sse" => self.set("transport", &"sse".into()),
            "stdio" | "local" | "http" | "https" | "streamable-http" | "streamable_http"
            | "streamablehttp" | "remote" => {}
            _ => self.notes.push("unknown transport ignored".to_owned()),
        }
    }

    fn timeout(&mut self, value: &Json) {
        let Some(number) = value.as_f64() else { return self.left_out("timeout") };
        let is_milliseconds = match self.kind {
            Kind::ClaudeDesktop | Kind::ClaudeCode | Kind::Cursor => true,
            Kind::Hermes | Kind::Goose | Kind::Zed => false,
            _ => number >= MILLISECONDS_FROM,
        };
        if is_milliseconds {
            self.set("timeout", &Json::from(number / 1000.0));
            self.notes.push("`timeout` was converted from milliseconds".to_owned());
        } else {
            self.set("timeout", value);
        }
    }

    fn oauth(&mut self, value: &Json) {
        let Some(theirs) = value.as_object() else { return self.left_out("oauth") };
        self.set("auth", &"oauth".into());
        for (key, value) in theirs {
            let ours = match key.as_str() {
                "client_id" | "clientId" | "CLIENT_ID" => "client_id",
                "client_secret" | "clientSecret" | "CLIENT_SECRET" => "client_secret",
                "callbackPort" => "redirect_port",
                "scopes" | "scope" => "scope",
                _ => {
                    self.left_out(&format!("oauth.{key}"));
                    continue;
                }
            };
            let value = if ours == "scope" { spaced(value) } else { value.clone() };
            self.within("oauth", ours, value);
        }
    }

    /// Converts a key that is specific to this client; returns whether it was one.
    fn theirs(&mut self, key: &str, value: &Json) -> bool {
        match self.kind {
            Kind::Codex => self.codex(key, value),
            Kind::Goose => self.goose(key, value),
            Kind::Zed => self.zed(key, value),
            Kind::Windsurf if key == "disabledTools" => {
                self.within("tools", "exclude", value.clone());
                true
            }
            _ => false,
        }
    }

    fn goose(&mut self, key: &str, value: &Json) -> bool {
        match key {
            "type" => match value.as_str() {
                Some("builtin" | "platform") => self.unusable = Some("it is a part of goose"),
                Some("frontend" | "inline_python") => {
                    self.unusable = Some("only goose can run extensions of this type");
                }
                _ => self.transport(value),
            },
            "cmd" => self.set("command", value),
            "uri" => self.set("url", value),
            "envs" => self.merge("env", value),
            "env_keys" => {
                for name in value.as_array().into_iter().flatten().filter_map(Json::as_str) {
                    self.within("env", name, format!("${{{name}}}").into());
                    self.notes.push(format!("set the variable `{name}`; goose keeps its value"));
                }
            }
            "available_tools" if value.as_array().is_some_and(Vec::is_empty) => {}
            "available_tools" => self.within("tools", "include", value.clone()),
            // For display only.
            "name" | "display_name" | "description" | "bundled" => {}
            _ => return false,
        }
        true
    }

    fn zed(&mut self, key: &str, value: &Json) -> bool {
        match (key, value) {
            // Older versions have the whole command line here.
            ("command", Json::Object(command)) => {
                for (key, value) in command {
                    self.key(if key == "path" { "command" } else { key }, value);
                }
            }
            ("source", _) => {}
            _ => return false,
        }
        true
    }

    /// Converts settings that depend on several keys.
    fn complete(&mut self) {
        let is_remote = self.entry.contains_key("url");
        if self.kind == Kind::Zed && !is_remote && !self.entry.contains_key("command") {
            self.unusable = Some("an extension of Zed starts it");
        }
        // The variables of a remote extension are for its headers.
        if self.kind == Kind::Goose && is_remote {
            self.entry.remove("env");
        }
    }

    /// Converts a key of Codex; returns whether it was one.
    fn codex(&mut self, key: &str, value: &Json) -> bool {
        match key {
            "env_vars" => {
                for item in value.as_array().into_iter().flatten() {
                    if let Some(name) = item.as_str().or_else(|| item.get("name")?.as_str()) {
                        self.within("env", name, format!("${{{name}}}").into());
                    }
                }
            }
            "bearer_token_env_var" => {
                let name = value.as_str().unwrap_or_default();
                self.within("headers", "Authorization", format!("Bearer ${{{name}}}").into());
            }
            "env_http_headers" => {
                for (header, name) in value.as_object().into_iter().flatten() {
                    let name = name.as_str().unwrap_or_default();
                    self.within("headers", header, format!("${{{name}}}").into());
                }
            }
            "enabled_tools" => self.within("tools", "include", value.clone()),
            "disabled_tools" => self.within("tools", "exclude", value.clone()),
            "tool_timeout_sec" => self.set("timeout", value),
            "startup_timeout_sec" => self.set("connect_timeout", value),
            "startup_timeout_ms" => {
                let seconds = value.as_f64().unwrap_or_default() / 1000.0;
                self.entry.entry("connect_timeout").or_insert_with(|| seconds.into());
            }
            "scopes" => {
                self.set("auth", &"oauth".into());
                self.within("oauth", "scope", spaced(value));
            }
            "required" | "supports_parallel_tool_calls" => self.set(key, value),
            _ => return false,
        }
        true
    }

    fn set(&mut self, key: &str, value: &Json) {
        self.entry.insert(key.to_owned(), value.clone());
    }

    fn within(&mut self, section: &str, key: &str, value: Json) {
        let inner = self.entry.entry(section).or_insert_with(|| Json::Object(Map::new()));
        if let Some(inner) = inner.as_object_mut() {
            inner.insert(key.to_owned(), value);
        }
    }

    fn merge(&mut self, section: &str, value: &Json) {
        for (key, value) in value.as_object().into_iter().flatten() {
            self.within(section, key, value.clone());
        }
    }

    fn left_out(&mut self, key: &str) {
        self.notes.push(format!("`{key}` was not imported"));
    }
}

fn is_foreign_oauth(value: &Json) -> bool {
    ["clientId", "clientSecret", "callbackPort", "CLIENT_ID", "CLIENT_SECRET", "scopes"]
        .iter()
        .any(|key| value.get(key).is_some())
}

fn spaced(value: &Json) -> Json {
    match value.as_array() {
        Some(scopes) => {
            let scopes: Vec<_> = scopes.iter().filter_map(Json::as_str).collect();
            scopes.join(" ").into()
        }
        None => value.clone(),
    }
}

/// Rewrites references in the syntax of other clients.
fn rewrite(value: &mut Json, notes: &mut Vec<String>) {
    match value {
        Json::String(text) if text.contains("${") => *text = rewritten(text, notes),
        Json::Array(items) => items.iter_mut().for_each(|item| rewrite(item, notes)),
        Json::Object(entries) => entries.values_mut().for_each(|value| rewrite(value, notes)),
        _ => {}
    }
}

fn rewritten(text: &str, notes: &mut Vec<String>) -> String {
    map_references(text, |whole, name| match name.split_once(':') {
        Some(("input", id)) => {
            let variable = variable_of_input(id);
            notes.push(format!(
                "set the variable `{variable}`; the editor prompted for it at each start"
            ));
            format!("${{{variable}}}")
        }
        Some(("config" | "command", _)) => {
            notes.push(format!("`{whole}` is not supported"));
            whole.to_owned()
        }
        _ => whole.to_owned(),
    })
}

fn variable_of_input(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect()
}

/// Adds the editor's descriptions of its inputs to the notes that ask for them.
pub(super) fn name_inputs(found: &mut [Found], inputs: Option<&Json>) {
    for input in inputs.and_then(Json::as_array).into_iter().flatten() {
        let text = |key: &str| input.get(key).and_then(Json::as_str);
        let (Some(id), Some(description)) = (text("id"), text("description")) else { continue };
        let start = format!("set the variable `{}`;", variable_of_input(id));
        for note in found.iter_mut().flat_map(|server| &mut server.notes) {
            if note.starts_with(&start) {
                note.push_str(&format!(" ({description})"));
            }
        }
    }
}
