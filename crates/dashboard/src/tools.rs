//! The tools of a server: which are enabled, and a form to try one.

use askama::Template;
use axum::extract::Path;
use pages::{Fields, Frame, Html, redirect};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::page::{PageResult, Viewer, show};
use crate::program::CommandError;
use crate::servers::{path, saved};
use crate::state::App;

/// Larger results are truncated.
const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// Output of `agent mcp tools --json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Tool {
    name: String,
    native_name: String,
    description: String,
    tokens: u64,
    read_only: bool,
    needs_approval: bool,
    /// `None` for the tools that read resources and prompts, which have their own setting.
    excluded: Option<bool>,
    schema: Value,
}

#[derive(Template)]
#[template(path = "tools.html")]
struct ToolsPage {
    frame: Frame,
    server: String,
    path: String,
    tools: Vec<Tool>,
    tokens: u64,
}

/// An input of the form of a tool.
struct Field {
    name: String,
    about: String,
    /// `text`, `number`, `choice`, `switch` or `json`.
    kind: &'static str,
    choices: Vec<String>,
    is_required: bool,
    value: String,
}

/// A part of a result.
enum Part {
    Text(String),
    Image(String),
    Audio(String),
    Json(String),
}

#[derive(Template)]
#[template(path = "tool.html")]
struct ToolPage {
    frame: Frame,
    server: String,
    path: String,
    tool: Tool,
    fields: Vec<Field>,
    result: Option<Vec<Part>>,
    is_error: bool,
}

async fn tools(app: &App, server: &str) -> Result<Vec<Tool>, CommandError> {
    app.program.list("tools", &["mcp", "tools", "--schema", "--all", "--", server]).await
}

pub(crate) async fn list(viewer: Viewer, Path(server): Path<String>) -> PageResult {
    let tools = tools(&viewer.app, &server).await?;
    let used = tools.iter().filter(|tool| !tool.is_excluded());
    let tokens = used.map(|tool| tool.tokens).sum();
    let frame = viewer.frame(&format!("Tools of {server}"));
    show(&ToolsPage { frame, path: path(&server) + "/tools", server, tools, tokens })
}

/// Saves the enabled tools: all, or all except the unchecked ones.
pub(crate) async fn choose(viewer: Viewer, Path(server): Path<String>) -> PageResult {
    let all: Vec<&str> = viewer.form.all("known").collect();
    let used: Vec<&str> = viewer.form.all("use").collect();
    // Saving the same choice keeps patterns.
    if viewer.form.all("used").eq(used.iter().copied()) {
        return Ok(redirect(&path(&server)));
    }
    let unused: Vec<&str> = all.iter().filter(|name| !used.contains(name)).copied().collect();
    // The majority decides about tools that the server adds later.
    let (include, exclude) = if unused.is_empty() {
        (Value::Null, Value::Null)
    } else if unused.len() <= used.len() {
        (Value::Null, patterns(&unused))
    } else {
        (patterns(&used), Value::Null)
    };
    let set = [format!("tools.include={include}"), format!("tools.exclude={exclude}")];
    viewer.app.program.json(&["mcp", "set", "--", &server, &set[0], &set[1]]).await?;
    Ok(saved(&viewer, &server, "saved").await)
}

/// Exact names, with special characters of patterns escaped.
fn patterns(names: &[&str]) -> Value {
    let escaped = names.iter().map(|name| {
        name.chars().fold(String::new(), |mut text, letter| {
            match letter {
                '*' | '?' | '[' => text.extend(['[', letter, ']']),
                letter => text.push(letter),
            }
            text
        })
    });
    escaped.collect()
}

pub(crate) async fn form(
    viewer: Viewer,
    Path((server, tool)): Path<(String, String)>,
) -> PageResult {
    let tool = find(&viewer.app, &server, &tool).await?;
    page(&viewer, server, tool, None)
}

async fn find(app: &App, server: &str, name: &str) -> Result<Tool, CommandError> {
    let found = tools(app, server).await?.into_iter().find(|tool| tool.native_name == name);
    found.ok_or_else(|| CommandError::new(format!("{server} has no tool “{name}”")))
}

/// Calls a tool with the values of the form.
pub(crate) async fn call(
    viewer: Viewer,
    Path((server, name)): Path<(String, String)>,
) -> PageResult {
    let tool = find(&viewer.app, &server, &name).await?;
    let result = match arguments(&tool, &viewer.form) {
        Ok(arguments) => {
            let target = format!("{server}/{name}");
            let mut words = vec!["mcp", "call"];
            if viewer.form.get("approve") == "yes" {
                words.push("--approve");
            }
            words.extend(["--", &target, "-"]);
            viewer.app.program.json_with(&words, &Value::Object(arguments).to_string()).await
        }
        Err(wrong) => Err(CommandError::new(wrong)),
    };
    page(&viewer, server, tool, Some(result))
}

/// The arguments in a form, or the error of the last invalid one.
fn arguments(tool: &Tool, typed: &Fields) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    let mut wrong = None;
    for field in fields_of(&tool.schema, typed) {
        match value(&field, typed.get(&format!("argument.{}", field.name))) {
            Ok(Some(value)) => drop(arguments.insert(field.name, value)),
            Ok(None) => {}
            Err(message) => wrong = Some(format!("{}: {message}", field.name)),
        }
    }
    wrong.map_or(Ok(arguments), Err)
}

fn page(
    viewer: &Viewer,
    server: String,
    tool: Tool,
    result: Option<Result<Value, CommandError>>,
) -> PageResult {
    let result = result.transpose();
    let frame = viewer.form_frame(&tool.native_name, result.as_ref().err());
    let result = result.ok().flatten();
    show(&ToolPage {
        frame,
        path: path(&server) + "/tools",
        server,
        fields: fields_of(&tool.schema, &viewer.form),
        tool,
        is_error: result.as_ref().is_some_and(|value| value["is_error"] == true),
        result: result.as_ref().map(parts),
    })
}

/// The form inputs for the JSON Schema of an object, with the typed values.
fn fields_of(schema: &Value, typed: &Fields) -> Vec<Field> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| {
            let choices = schema["enum"].as_array().into_iter().flatten();
            let choices: Vec<String> =
                choices.filter_map(Value::as_str).map(str::to_owned).collect();
            let kind = match schema["type"].as_str() {
                _ if !choices.is_empty() => "choice",
                Some("string") => "text",
                Some("number" | "integer") => "number",
                Some("boolean") => "switch",
                _ => "json",
            };
            let default = || match &schema["default"] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let value = typed.all(&format!("argument.{name}")).next().map(str::to_owned);
            Field {
                name: name.clone(),
                about: schema["description"].as_str().unwrap_or_default().to_owned(),
                kind,
                choices,
                is_required: required.contains(&name.as_str()),
                value: value.unwrap_or_else(default),
            }
        })
        .collect()
}

fn value(field: &Field, text: &str) -> Result<Option<Value>, String> {
    if text.is_empty() {
        let is_missing = field.is_required && field.kind != "text";
        return match (is_missing, field.is_required) {
            (true, _) => Err("a value is required".to_owned()),
            (false, true) => Ok(Some(json!(""))),
            (false, false) => Ok(None),
        };
    }
    match field.kind {
        "text" | "choice" => Ok(Some(json!(text))),
        "number" => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Ok(Some(Value::Number(number))),
            _ => Err(format!("“{text}” is not a number")),
        },
        "switch" => Ok(Some(json!(text == "true"))),
        _ => serde_json::from_str(text).map(Some).map_err(|error| format!("not JSON: {error}")),
    }
}

/// The parts of a result, in the server's order.
fn parts(result: &Value) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for block in result["content"].as_array().into_iter().flatten() {
        let data = |kind: &str| {
            let mime = block["mime"].as_str().filter(|mime| mime.starts_with(kind))?;
            let is_plain =
                mime.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/.+-".contains(&byte));
            let data = block["data"].as_str()?;
            is_plain.then(|| format!("data:{mime};base64,{data}"))
        };
        parts.push(match block["type"].as_str() {
            Some("text") => Part::Text(cut(block["text"].as_str().unwrap_or_default())),
            Some("image") => data("image/").map_or_else(|| raw(block), Part::Image),
            Some("audio") => data("audio/").map_or_else(|| raw(block), Part::Audio),
            _ => raw(block),
        });
    }
    match &result["structured"] {
        Value::Null => {}
        value => parts.push(raw(value)),
    }
    parts
}

fn raw(value: &Value) -> Part {
    Part::Json(cut(&serde_json::to_string_pretty(value).unwrap_or_default()))
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
    let more = if end < text.len() { "\n…" } else { "" };
    format!("{}{more}", &text[..end])
}

impl Tool {
    fn is_excluded(&self) -> bool {
        self.excluded == Some(true)
    }

    fn access(&self) -> Html {
        if self.needs_approval {
            pages::tag("warn", "needs approval")
        } else if self.read_only {
            pages::tag("good", "reads only")
        } else {
            pages::tag("plain", "may change things")
        }
    }
}
