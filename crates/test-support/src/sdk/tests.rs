//! The real clients against the scripted model server.

use serde_json::{Value, json};

use super::*;
use crate::upstream::Upstream;

const PYTHON: &str = r#"
import json, openai
from pydantic import BaseModel

client = openai.OpenAI(max_retries=1)
user = lambda text: [{"role": "user", "content": text}]
weather = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
           "additionalProperties": False}
tool = {"type": "function", "function": {"name": "weather", "parameters": weather}}
found = {"models": [model.id for model in client.models.list()]}

answer = client.chat.completions.create(model="echo", messages=user("hello there"))
found["chat"] = [answer.choices[0].message.content, answer.usage.total_tokens]

stream = client.chat.completions.create(model="chunks-3", messages=user("x"), stream=True,
                                        stream_options={"include_usage": True})
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
found["stream"] = [text, chunks[-1].usage.completion_tokens]

answer = client.chat.completions.create(model="echo", messages=user("use the tool now"), tools=[tool])
call = answer.choices[0].message.tool_calls[0]
said = user("use the tool now") + [answer.choices[0].message,
                                   {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
answer = client.chat.completions.create(model="echo", messages=said, tools=[tool])
found["tool"] = [call.function.name, call.function.arguments, answer.choices[0].message.content]

class Point(BaseModel):
    x: int
    name: str

parsed = client.chat.completions.parse(model="echo", messages=user("a point"), response_format=Point)
found["parsed"] = parsed.choices[0].message.parsed.model_dump()

answer = client.responses.create(model="echo", input="hello there")
found["response"] = [answer.output_text, answer.usage.total_tokens, answer.status]
with client.responses.stream(model="chunks-2", input="x") as stream:
    kinds = [event.type for event in stream]
    found["events"] = [kinds[0], kinds[-1], stream.get_final_response().output_text]
with client.responses.stream(model="echo", input="use the tool now",
                             tools=[{"type": "function", "name": "weather", "parameters": weather,
                                     "strict": True}]) as stream:
    final = stream.get_final_response()
    found["called"] = [final.output[0].name, final.output[0].arguments]

def status(model):
    try:
        client.chat.completions.create(model=model, messages=user("x"))
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code]
    except openai.APIError as error:
        return type(error).__name__
found["errors"] = [status(model) for model in ("status-400", "status-401", "status-429",
                                               "status-500", "cut-before-first")]
try:
    list(client.chat.completions.create(model="error-event", messages=user("x"), stream=True))
except openai.APIError as error:
    found["in_stream"] = "scripted 500" in error.message
print(json.dumps(found))
"#;

const NODE: &str = r#"
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 1 });
const user = (content) => [{ role: "user", content }];
const found = { models: [] };
for await (const model of client.models.list()) found.models.push(model.id);

const answer = await client.chat.completions.create({ model: "echo", messages: user("hello there") });
found.chat = [answer.choices[0].message.content, answer.usage.total_tokens];

const stream = client.chat.completions.stream({
    model: "chunks-3", messages: user("x"), stream_options: { include_usage: true },
});
const whole = await stream.finalChatCompletion();
found.stream = [whole.choices[0].message.content, whole.usage.completion_tokens];

const events = [];
for await (const event of await client.responses.create({ model: "chunks-2", input: "x", stream: true }))
    events.push(event);
found.events = [events[0].type, events.at(-1).type, events.at(-1).response.output[0].content[0].text];

found.errors = [];
for (const model of ["status-400", "status-429", "status-500", "cut-before-first"]) {
    try {
        await client.chat.completions.create({ model, messages: user("x") });
    } catch (error) {
        found.errors.push([error.constructor.name, error.status ?? null]);
    }
}
console.log(JSON.stringify(found));
"#;

fn environment(upstream: &Upstream) -> [(&'static str, String); 2] {
    [("OPENAI_BASE_URL", upstream.base_url()), ("OPENAI_API_KEY", upstream.key().to_owned())]
}

fn against(upstream: &Upstream, client: Client, script: &str) -> Value {
    let environment = environment(upstream);
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    client.run(script, &environment)
}

#[test]
fn python_openai_client_accepts_the_scripted_server() {
    let upstream = Upstream::start();
    let found = against(&upstream, OPENAI_PYTHON, PYTHON);
    let expected = json!({
        "models": ["echo", "echo-mini", "chunks-64"],
        "chat": ["hello there", 4],
        "stream": ["c0 c1 c2 ", 3],
        "tool": ["weather", "{\"city\":\"word\"}", "tool said: rain"],
        "parsed": {"x": 1, "name": "word"},
        "response": ["hello there", 4, "completed"],
        "events": ["response.created", "response.completed", "c0 c1 "],
        "called": ["weather", "{\"city\":\"word\"}"],
        "errors": [["BadRequestError", 400], ["AuthenticationError", 401],
            ["RateLimitError", 429], ["InternalServerError", 500], "APIConnectionError"],
        "in_stream": true,
    });
    assert_eq!(found, expected);
    // It retried the error that may be retried.
    let failed =
        upstream.completions().iter().filter(|seen| seen.json()["model"] == "status-500").count();
    assert_eq!(failed, 2);
}

#[test]
fn node_openai_client_accepts_the_scripted_server() {
    let upstream = Upstream::start();
    let found = against(&upstream, OPENAI_NODE, NODE);
    let expected = json!({
        "models": ["echo", "echo-mini", "chunks-64"],
        "chat": ["hello there", 4],
        "stream": ["c0 c1 c2 ", 3],
        "events": ["response.created", "response.completed", "c0 c1 "],
        "errors": [["BadRequestError", 400], ["RateLimitError", 429],
            ["InternalServerError", 500], ["APIConnectionError", null]],
    });
    assert_eq!(found, expected);
}

#[test]
fn failed_script_reports_the_reason() {
    let say = |script: &str| {
        let mut command = command(&python_of("openai-python", &["-"]), PATIENCE, &[]);
        document(&ProgramOutput::of(&mut command, script.as_bytes())).unwrap_err()
    };
    let failed = say("raise SystemExit('the tower fell')");
    assert!(failed.starts_with("the script ended with 1\nthe tower fell"), "{failed}");
    let silent = say("print('hello')");
    assert!(silent.contains("printed no JSON") && silent.contains("hello"), "{silent}");
}

#[test]
fn endless_script_is_stopped() {
    let mut command = command(&python_of("openai-python", &["-"]), Duration::from_secs(1), &[]);
    let endless = b"import threading; threading.Event().wait()";
    assert_eq!(ProgramOutput::of(&mut command, endless).code, 124);
}

#[test]
fn script_gets_only_the_given_environment() {
    let script = "import os, json; print(json.dumps(sorted(os.environ)))";
    let found = OPENAI_PYTHON.run(script, &[("MINE", "1")]);
    for name in found.as_array().unwrap() {
        let known = ["LC_ALL", "MINE", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"];
        assert!(known.contains(&name.as_str().unwrap()), "{name}");
    }
}

#[test]
fn schemathesis_is_installed() {
    let run = schemathesis(&["--version"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("4."), "{}", run.stdout);
}
