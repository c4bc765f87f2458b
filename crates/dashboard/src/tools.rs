//! The tools of a server: which of them are used, and a form to try one.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use pages::{Frame, Html};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::Submitted;
use crate::page::{Viewer, bad, segment, show};
use crate::program::CommandError;
use crate::servers::saved;
use crate::state::{App, Shared};

const PATH: &str = "/servers";
/// Larger results are cut on the page.
const MAX_SHOWN_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Tool {
    name: String,
    native_name: String,
    description: String,
    tokens: u64,
    read_only: bool,
    needs_approval: bool,
    /// `None` for the tools that read resources and prompts, which have a setting of their own.
    excluded: Option<bool>,
    schema: Value,
}

#[derive(Template)]
#[template(path = "tools.html")]
struct ToolsPage {
    frame: Frame,
    csrf: String,
    server: String,
    path: String,
    tools: Vec<(Tool, String)>,
    tokens: String,
}

/// An input of the form of a tool.
pub(crate) struct Field {
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
    csrf: String,
    server: String,
    path: String,
    tool: Tool,
    fields: Vec<Field>,
    result: Option<Vec<Part>>,
    is_error: bool,
}

async fn tools(app: &App, server: &str) -> Result<Vec<Tool>, CommandError> {
    let words = ["mcp", "tools", "--schema", "--all", "--", server];
    let mut value = app.program.json(&words).await?;
    let tools = Vec::<Tool>::deserialize(value["tools"].take());
    tools.map_err(|error| CommandError::new(error.to_string()))
}

pub(crate) async fn list(
    State(app): Shared,
    viewer: Viewer,
    Path(server): Path<String>,
) -> Response {
    let tools = match tools(&app, &server).await {
        Ok(tools) => tools,
        Err(error) => return viewer.problem(&app, PATH, error),
    };
    let path = format!("{PATH}/{}/tools", segment(&server));
    let tokens =
        tools.iter().filter(|tool| tool.excluded != Some(true)).map(|tool| tool.tokens).sum();
    let link = |tool: Tool| {
        let link = format!("{path}/{}", segment(&tool.native_name));
        (tool, link)
    };
    show(&ToolsPage {
        frame: viewer.frame(&app, &format!("Tools of {server}"), PATH),
        csrf: viewer.csrf,
        tools: tools.into_iter().map(link).collect(),
        tokens: pages::count(tokens),
        server,
        path,
    })
}

/// Saves which tools are used: all, or all but those that were unchecked.
pub(crate) async fn choose(
    State(app): Shared,
    viewer: Viewer,
    Path(server): Path<String>,
    Extension(Submitted(fields)): Extension<Submitted>,
) -> Response {
    let all: Vec<&str> = fields.all("known").collect();
    let used: Vec<&str> = fields.all("use").collect();
    let unused: Vec<&str> = all.iter().filter(|name| !used.contains(name)).copied().collect();
    // What is new at the server later is used if most is, and not if little is.
    let (include, exclude) = if unused.is_empty() {
        (Value::Null, Value::Null)
    } else if unused.len() <= used.len() {
        (Value::Null, patterns(&unused))
    } else {
        (patterns(&used), Value::Null)
    };
    let set = [format!("tools.include={include}"), format!("tools.exclude={exclude}")];
    match app.program.json(&["mcp", "set", "--", &server, &set[0], &set[1]]).await {
        Ok(_) => saved(&app, &server, "saved").await,
        Err(error) => viewer.problem(&app, PATH, error),
    }
}

/// Exact names, whatever letters they have that mean something in a pattern.
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
    State(app): Shared,
    viewer: Viewer,
    Path((server, tool)): Path<(String, String)>,
) -> Response {
    match find(&app, &server, &tool).await {
        Ok(tool) => page(&app, &viewer, (server, tool), &Map::new(), None),
        Err(error) => viewer.problem(&app, PATH, error),
    }
}

async fn find(app: &App, server: &str, name: &str) -> Result<Tool, CommandError> {
    let found = tools(app, server).await?.into_iter().find(|tool| tool.native_name == name);
    found.ok_or_else(|| CommandError::new(format!("{server} has no tool “{name}”")))
}

/// Calls a tool with the values of the form.
pub(crate) async fn call(
    State(app): Shared,
    viewer: Viewer,
    Path((server, name)): Path<(String, String)>,
    Extension(Submitted(fields)): Extension<Submitted>,
) -> Response {
    let tool = match find(&app, &server, &name).await {
        Ok(tool) => tool,
        Err(error) => return viewer.problem(&app, PATH, error),
    };
    let mut arguments = Map::new();
    let mut wrong = None;
    for field in fields_of(&tool.schema, &Map::new()) {
        let text = fields.get(&format!("argument.{}", field.name));
        match value(&field, text) {
            Ok(Some(value)) => drop(arguments.insert(field.name, value)),
            Ok(None) => {}
            Err(message) => wrong = Some(format!("{}: {message}", field.name)),
        }
    }
    if let Some(wrong) = wrong {
        let typed = typed(&fields);
        return page(&app, &viewer, (server, tool), &typed, Some(Err(CommandError::new(wrong))));
    }
    let arguments = Value::Object(arguments);
    let target = format!("{server}/{name}");
    let mut words = vec!["mcp", "call"];
    if fields.get("approve") == "yes" {
        words.push("--approve");
    }
    words.extend(["--", &target, "-"]);
    let result = app.program.json_with(&words, &arguments.to_string()).await;
    page(&app, &viewer, (server, tool), &typed(&fields), Some(result))
}

/// What was typed, to be shown again.
fn typed(fields: &pages::Fields) -> Map<String, Value> {
    let argument = |(name, text): (&str, &str)| {
        Some((name.strip_prefix("argument.")?.to_owned(), Value::from(text)))
    };
    fields.iter().filter_map(argument).collect()
}

fn page(
    app: &App,
    viewer: &Viewer,
    (server, tool): (String, Tool),
    typed: &Map<String, Value>,
    result: Option<Result<Value, CommandError>>,
) -> Response {
    let mut frame = viewer.frame(app, &tool.native_name, PATH);
    let is_error = matches!(&result, Some(Ok(value)) if value["is_error"] == true);
    let result = match result {
        Some(Ok(value)) => Some(parts(&value)),
        Some(Err(error)) => {
            frame.notice = Some(bad(error.text()));
            None
        }
        None => None,
    };
    show(&ToolPage {
        frame,
        csrf: viewer.csrf.clone(),
        path: format!("{PATH}/{}/tools", segment(&server)),
        server,
        fields: fields_of(&tool.schema, typed),
        tool,
        result,
        is_error,
    })
}

/// The inputs of the form of a JSON Schema of an object.
pub(crate) fn fields_of(schema: &Value, typed: &Map<String, Value>) -> Vec<Field> {
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
            let value = typed.get(name).and_then(Value::as_str).map(str::to_owned);
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

/// The parts of a result in the order of the server.
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
