//! `/mcp` as real clients meet it: the packages of Python and of TypeScript, before and after the
//! stateless revision, and the inspector. Each calls every tool, and the account agrees.

use std::sync::Arc;

use agent_test_support::sdk;
use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::{Map, Value, json};

use crate::fixture::{paid, provider};
use crate::search_peer::{Peer, Reply};
use crate::site::{HOST, Names, PUBLIC, Site};
use crate::support::{Holder, PRICE, Running};

/// How many questions the scripts ask at once, besides a long one.
const MANY: i64 = 16;
/// The most characters that the service tells of an answer.
const MAX_CHARS: i64 = 200_000;

/// A tool, how it is called rightly and wrongly, and what a right call costs.
struct Tool {
    name: &'static str,
    good: Value,
    bad: Value,
    price: i64,
}

/// Every tool there is. One that is listed and not in here fails the tests.
fn tools(site: &Site, job: &str) -> Vec<Tool> {
    let tool = |name, good, bad, price| Tool { name, good, bad, price };
    vec![
        tool("list_capabilities", json!({}), json!({"verbose": true}), 0),
        tool("list_models", json!({"contains": "echo"}), json!({"limit": 0}), 0),
        tool("ask", json!({"prompt": "héllo 漢字", "model": "up/echo"}), json!({}), PRICE),
        tool("web_search", json!({"query": "rust"}), json!({"query": ""}), PRICE),
        tool("web_fetch", json!({"url": site.url("/a")}), json!({"url": "ftp://a/"}), PRICE),
        tool(
            "generate_media",
            json!({"model": "up/speak", "text": "Hello."}),
            json!({"model": ""}),
            PRICE,
        ),
        tool("start_research", json!({"query": "Why?"}), json!({"query": ""}), 0),
        tool("get_research", json!({"id": job}), json!({"id": ""}), 0),
        tool("account", json!({}), json!({"id": 1}), 0),
    ]
}

const MODELS: &str =
    "kind: openai, health: false, models: {echo: {}, hang: {}, speak: {capabilities: [speech]}}";

struct Setup {
    upstream: Upstream,
    _search: Peer,
    tools: Vec<Tool>,
    service: Running,
    ada: Holder,
}

fn setup() -> Setup {
    let upstream = Upstream::start();
    let site = Site::of(&[("/a", "text/html", "<title>A page</title><p>Some words.</p>")]);
    let found = json!({"query": "q", "results": [{
        "url": "https://www.rust-lang.org/", "title": "Rust", "content": "A language",
    }]});
    let search = Peer::start(Reply::Json(found));
    let text = format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n{}  found: {{kind: searxng, base_url: \"{}\"}}\n\
         prices: {{default_micros: {{chat: {PRICE}, search: {PRICE}, fetch: {PRICE}, \
         media: {PRICE}, research: 0}}}}\n\
         research: {{workers: 0}}\n\
         fetch: {{allow_private: [\"{HOST}:{}\"]}}\n",
        provider("up", &upstream, MODELS),
        search.base_url(),
        site.address.port(),
    );
    let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
    let service = Running::start_after(Arc::new(tempfile::tempdir().unwrap()), &text, move |it| {
        it.resolve_pages_with(names);
    });
    let ada = service.holder("ada", 1000 * PRICE);
    let asked = json!({"query": "Why?"});
    let job = service.post("/v1/research/jobs", ada.key.as_str(), &asked).good();
    let tools = tools(&site, job["id"].as_str().unwrap());
    Setup { upstream, _search: search, tools, service, ada }
}

/// A key that is well made and that nobody was given.
fn wrong_key() -> String {
    let other = Running::start("listen: 127.0.0.1:0\ndatabase: \"sqlite:other.sqlite3\"\n");
    other.holder("eve", 0).key.as_str().to_owned()
}

impl Setup {
    fn url(&self) -> String {
        format!("{}/mcp", self.service.origin())
    }

    /// What a right call of every tool costs.
    fn price(&self) -> i64 {
        self.tools.iter().map(|tool| tool.price).sum()
    }

    /// Runs a script.
    fn run(&self, client: sdk::Client, script: &str, more: &str) -> Value {
        let arguments = |tool: &Tool| json!({"good": tool.good, "bad": tool.bad});
        let tools: Map<String, Value> =
            self.tools.iter().map(|tool| (tool.name.to_owned(), arguments(tool))).collect();
        let environment = [
            ("URL", self.url()),
            ("KEY", self.ada.key.as_str().to_owned()),
            ("WRONG_KEY", wrong_key()),
            ("TOOLS", Value::Object(tools).to_string()),
            ("PACKAGE", more.to_owned()),
        ];
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        client.run(script, &environment)
    }

    fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.name).collect()
    }

    /// What a script found in each mode, and in which revision that was; in the end the account.
    #[track_caller]
    fn check(&self, found: &Value, modes: &[(&str, &str)]) {
        for (mode, version) in modes {
            let found = &found[mode];
            assert_eq!(found["version"], *version, "{mode}");
            assert_eq!(found["tools"], json!(self.names()), "{mode}");
            for tool in &self.tools {
                let (good, bad) = (&found["good"][tool.name], &found["bad"][tool.name]);
                let name = format!("{mode} {}", tool.name);
                assert_eq!((&good["error"], &good["structured"]), (&json!(false), &json!(true)));
                let charge = good["charge"].as_i64().unwrap_or_default();
                assert_eq!(charge, tool.price, "{name} {good}");
                assert_eq!((&bad["error"], &bad["status"]), (&json!(true), &json!(400)), "{name}");
                let text = bad["text"].as_str().unwrap();
                assert!(text.ends_with("(invalid_request, 400)"), "{name} {text}");
            }
            assert_eq!(found["good"]["ask"]["text"], "héllo 漢字");
            assert_eq!(found["unknown_tool"], -32602, "{mode}");
            assert_eq!(found["many"], json!(vec![true; 16]), "{mode}");
            assert_eq!(found["big"], json!([MAX_CHARS, true]), "{mode}");
            assert!(found["progress"].as_str().unwrap().starts_with("running for"), "{mode}");
            assert_eq!(found["after"], false, "{mode}");
            let wrong = found["wrong_key"].as_str().unwrap();
            let is_told = wrong.contains("the key is missing, unknown, expired or revoked");
            assert!(is_told || wrong.contains("HTTP 401"), "{mode}: {wrong}");
        }
        let visits = i64::try_from(modes.len()).unwrap();
        eventually("every upstream that hung was left", || {
            self.upstream.cancelled().len() == modes.len()
        });
        assert_eq!(
            paid(&self.service, &self.ada),
            visits * (self.price() + (MANY + 1) * PRICE),
            "calls that were called off cost nothing, and all others once"
        );
    }
}

const ALL_MODES: &[(&str, &str)] =
    &[("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")];

#[test]
fn the_python_sdk_calls_every_tool_in_every_mode() {
    let setup = setup();
    let found = setup.run(sdk::MCP_PYTHON, include_str!("scripts/mcp.py"), "");
    setup.check(&found, ALL_MODES);
    assert_eq!(found["legacy"]["prompts"], -32601);
}

#[test]
fn the_typescript_sdk_calls_every_tool_in_every_mode() {
    let setup = setup();
    let found = setup.run(sdk::MCP_TYPESCRIPT, include_str!("scripts/mcp.mjs"), "client");
    setup.check(&found, ALL_MODES);
}

#[test]
fn the_older_typescript_sdk_calls_every_tool() {
    let setup = setup();
    let found = setup.run(sdk::MCP_TYPESCRIPT_BEFORE, include_str!("scripts/mcp.mjs"), "sdk");
    setup.check(&found, &[("legacy", "2025-11-25")]);
}

#[test]
fn the_inspector_lists_and_calls_every_tool() {
    let setup = setup();
    let (url, good) = (setup.url(), format!("Authorization: Bearer {}", setup.ada.key.as_str()));
    let inspect = |era: &str, header: &str, more: &[&str]| {
        let common = [
            "--cli", &url, "--transport", "http", "--protocol-era", era, "--format", "json",
            "--quiet", "--stored-auth-only", "--header", header,
        ];
        sdk::inspector(&[&common, more].concat())
    };
    for era in ["legacy", "modern"] {
        let run = inspect(era, &good, &["--method", "tools/list", "--strict"]);
        assert_eq!(run.code, 0, "{run:?}");
        let listed: Value = serde_json::from_str(&run.stdout).unwrap();
        let names: Vec<&str> = listed["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, setup.names());
    }
    for tool in &setup.tools {
        let arguments = tool.good.to_string();
        let call = ["--method", "tools/call", "--tool-name", tool.name, "--tool-args-json"];
        let run = inspect("modern", &good, &[&call[..], &[&arguments]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let result: Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(result["result"]["structuredContent"].is_object(), "{result}");
    }
    let bad = ["--method", "tools/call", "--tool-name", "ask", "--tool-args-json", "{}"];
    let run = inspect("legacy", &good, &bad);
    assert!(run.stdout.contains("`prompt` is missing or empty"), "{run:?}");
    assert_ne!(run.code, 0, "{run:?}");
    let wrong = format!("Authorization: Bearer {}", wrong_key());
    let run = inspect("legacy", &wrong, &["--method", "tools/list"]);
    assert_ne!(run.code, 0);
    assert_eq!(paid(&setup.service, &setup.ada), setup.price());
}
