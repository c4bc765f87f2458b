//! Speed of the registry, as ratios against its limits.
//!
//! Every figure is the best of several rounds: the machine's noise only ever adds.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, reason = "a measurement that cannot begin ends")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_client::config::{ToolPolicy, Trust};
use mcp_client::registry::{Registry, ServerCatalogue, ServerTools};
use mcp_client::tool::{HeaderMirroring, tools_page};
use serde_json::{Map, Value, json};

const SERVERS: usize = 100;
const TOOLS: usize = 100;
const ROUNDS: usize = 15;

/// How the schemas of a measured set look.
#[derive(Clone, Copy)]
enum Schemas {
    /// Nothing is to be repaired.
    Ordinary,
    /// Optional fields are unions with null, as Python frameworks write them.
    Nullable,
}

fn main() {
    println!("| work | ours | limit | ratio | aim | ratio |");
    println!("|---|---|---|---|---|---|");
    let ordinary = listed(Schemas::Ordinary);
    let nullable = listed(Schemas::Nullable);
    let policy = ToolPolicy::default();
    let ms = Duration::from_millis;
    for (name, servers) in [("ordinary", &ordinary), ("nullable", &nullable)] {
        let built = built(servers, &policy);
        let parts = parts(servers, &policy);
        let assembled = best(1, || {
            black_box(Registry::assemble(&parts));
        });
        let time = built + assembled;
        let work = format!("build and assemble {} tools, {name} schemas", SERVERS * TOOLS);
        row(&work, time, ms(50), ms(15));
    }
    reading(Schemas::Ordinary, "ordinary");
    reading(Schemas::Nullable, "nullable");
    let parts = parts(&ordinary, &policy);
    let time = best(1, || {
        black_box(Registry::assemble(&parts));
    });
    row("assemble alone", time, ms(50), ms(15));
    let filter = ToolPolicy {
        include: Some(vec!["get_*_1?".into(), "*_[0-4]*".into(), "exact".into()]),
        ..ToolPolicy::default()
    };
    let time = built(&ordinary, &filter);
    row("build with three globs", time, ms(50), ms(15));

    let registry = Registry::assemble(&parts);
    assert_eq!(registry.len(), SERVERS * TOOLS);
    let mut names: Vec<String> = registry.entries().map(|entry| entry.name.to_string()).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut names);
    let calls = u32::try_from(names.len()).expect("a small number");
    let mut next = names.iter().cycle();
    let time = best(calls, || {
        black_box(next.next().and_then(|name| registry.lookup(name)));
    });
    row("look one up, in random order", time, Duration::from_micros(1), Duration::from_nanos(200));
}

/// Reading lists has no limit; it is compared with plain parsing.
fn reading(schemas: Schemas, name: &str) {
    let result = page(schemas);
    let ours = best(10, || {
        black_box(tools_page(&result, HeaderMirroring::Mirror).expect("a page"));
    });
    let parsing = best(10, || {
        black_box(serde_json::from_str::<Value>(&result).expect("a value"));
    });
    println!(
        "| read a page of {TOOLS} tools, {name} schemas | {ours:.1?} | parsed as JSON {parsing:.1?} \
         | {:.1} times | | |",
        ours.as_secs_f64() / parsing.as_secs_f64()
    );
}

fn page(schemas: Schemas) -> String {
    let tools: Vec<Value> = (0..TOOLS).map(|tool| definition(tool, schemas)).collect();
    json!({"tools": tools}).to_string()
}

/// The time to build every part: the sum of each server's best. All servers are gone through in
/// every round, so that none is warmer in the cache than when a registry is really built.
fn built(servers: &[(String, ServerCatalogue)], policy: &ToolPolicy) -> Duration {
    let mut bests = vec![Duration::MAX; servers.len()];
    for _ in 0..ROUNDS {
        let mut kept = Vec::with_capacity(servers.len());
        for ((server, catalogue), best) in servers.iter().zip(&mut bests) {
            let started = Instant::now();
            let part = ServerTools::build(server, policy, Trust::Untrusted, catalogue);
            *best = started.elapsed().min(*best);
            kept.push(part);
        }
    }
    bests.into_iter().sum()
}

fn parts(servers: &[(String, ServerCatalogue)], policy: &ToolPolicy) -> Vec<Arc<ServerTools>> {
    servers
        .iter()
        .map(|(server, catalogue)| {
            Arc::new(ServerTools::build(server, policy, Trust::Untrusted, catalogue))
        })
        .collect()
}

fn listed(schemas: Schemas) -> Vec<(String, ServerCatalogue)> {
    (0..SERVERS)
        .map(|server| {
            let page = tools_page(&page(schemas), HeaderMirroring::Ignore).expect("a page");
            let mut catalogue = ServerCatalogue::default();
            catalogue.add_page(page);
            (format!("server-{server}"), catalogue)
        })
        .collect()
}

/// A tool of about one kilobyte.
fn definition(tool: usize, schemas: Schemas) -> Value {
    let mut properties = Map::new();
    for (at, name) in ["owner", "repository", "query", "path", "limit", "cursor"].iter().enumerate()
    {
        let kind = if at == 4 { "integer" } else { "string" };
        let description = format!("The {name} that the request is about, as the service names it.");
        let schema = match schemas {
            Schemas::Nullable if at > 1 => json!({
                "anyOf": [{"type": kind}, {"type": "null"}], "default": null,
                "description": description, "title": name,
            }),
            _ => json!({"type": kind, "description": description}),
        };
        properties.insert((*name).to_owned(), schema);
    }
    properties.insert("labels".to_owned(), json!({"type": "array", "items": {"type": "string"}}));
    properties.insert("state".to_owned(), json!({"type": "string", "enum": ["open", "closed"]}));
    json!({
        "name": format!("get_item_{tool}"),
        "description": "Gets one item by its number, with its labels, its state and its comments.",
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": ["owner", "repository"],
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": tool.is_multiple_of(2)},
    })
}

fn best(calls: u32, mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                work();
            }
            started.elapsed() / calls
        })
        .min()
        .unwrap_or_default()
}

fn row(work: &str, time: Duration, limit: Duration, aim: Duration) {
    let of = |other: Duration| 100.0 * time.as_secs_f64() / other.as_secs_f64();
    println!(
        "| {work} | {time:.1?} | {limit:?} | {:.0} % | {aim:?} | {:.0} % |",
        of(limit),
        of(aim)
    );
}
