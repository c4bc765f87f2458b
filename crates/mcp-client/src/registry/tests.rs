//! Laws and tables of the registry.

use std::collections::HashSet;

use super::*;
use crate::config::{ToolPolicy, Trust};
use crate::tool::{HeaderMirroring, tools_page};
use proptest::prelude::*;
use serde_json::json;

fn catalogue(names: &[&str]) -> ServerCatalogue {
    let tools: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "description": "d", "inputSchema": {"type": "object"}}))
        .collect();
    let mut catalogue = ServerCatalogue::default();
    catalogue.add_page(
        tools_page(&json!({"tools": tools}).to_string(), HeaderMirroring::Ignore).unwrap(),
    );
    catalogue
}

fn part(server: &str, catalogue: &ServerCatalogue) -> Arc<ServerTools> {
    Arc::new(ServerTools::build(server, &ToolPolicy::default(), Trust::Full, catalogue))
}

fn names(part: &ServerTools) -> Vec<&str> {
    part.entries().map(|entry| &*entry.name).collect()
}

#[test]
fn utilities_need_both_the_switch_and_the_capability() {
    for (switches, capabilities, expected) in [
        (
            (true, true),
            (true, true),
            vec!["list_resources", "read_resource", "list_prompts", "get_prompt"],
        ),
        ((true, true), (true, false), vec!["list_resources", "read_resource"]),
        ((true, false), (true, true), vec!["list_resources", "read_resource"]),
        ((false, true), (true, true), vec!["list_prompts", "get_prompt"]),
        ((true, true), (false, false), vec![]),
    ] {
        let policy = ToolPolicy {
            include: Some(vec![]),
            resources: switches.0,
            prompts: switches.1,
            ..ToolPolicy::default()
        };
        let listed = ServerCatalogue {
            resources: capabilities.0,
            prompts: capabilities.1,
            ..catalogue(&["a"])
        };
        let part = ServerTools::build("s", &policy, Trust::Untrusted, &listed);
        let found: Vec<&str> = part.entries().map(RegisteredTool::native_name).collect();
        assert_eq!(found, expected, "{switches:?} {capabilities:?}");
        assert!(part.entries().all(|entry| !entry.needs_approval()));
        assert_eq!((part.is_empty(), part.filtered), (expected.is_empty(), 1));
    }
}

#[test]
fn tools_with_colliding_names_are_all_skipped() {
    let part = part("s", &catalogue(&["get-item", "list", "get.item", "get_item"]));
    assert_eq!(names(&part), ["mcp__s__list"]);
    let skipped: Vec<&str> = part.skipped.iter().map(|one| one.native_name.as_str()).collect();
    assert_eq!(skipped, ["get-item", "get.item", "get_item"]);
    for one in &part.skipped {
        assert!(one.reason.contains("mcp__s__get_item"), "{}", one.reason);
        assert!(!one.reason.contains(&format!("of `{}`", one.native_name)), "{}", one.reason);
    }
}

#[test]
fn the_filter_applies_before_collision_checks() {
    let policy = ToolPolicy { exclude: vec!["get.item".into()], ..ToolPolicy::default() };
    let part = ServerTools::build("s", &policy, Trust::Full, &catalogue(&["get-item", "get.item"]));
    assert_eq!(names(&part), ["mcp__s__get_item"]);
}

#[test]
fn native_tools_take_precedence_over_utilities() {
    let listed = ServerCatalogue { resources: true, ..catalogue(&["read-resource"]) };
    let part = part("s", &listed);
    assert_eq!(names(&part), ["mcp__s__read_resource", "mcp__s__list_resources"]);
    assert!(matches!(part.entries().next().unwrap().action, ToolAction::Tool(_)));
    assert_eq!(part.skipped[0].native_name, "read_resource");
}

#[test]
fn on_collision_the_earlier_server_keeps_the_name() {
    let first = part("my-api", &catalogue(&["a", "b"]));
    let second = part("my_api", &catalogue(&["b", "c"]));
    let registry = Registry::assemble(&[first, second]);
    let found: Vec<&str> = registry.entries().map(|entry| &*entry.name).collect();
    assert_eq!(found, ["mcp__my_api__a", "mcp__my_api__b", "mcp__my_api__c"]);
    assert_eq!(&*registry.lookup("mcp__my_api__b").unwrap().server, "my-api");
    assert_eq!(&*registry.lookup("mcp__my_api__c").unwrap().server, "my_api");
    assert!(registry.lookup("mcp__my_api__d").is_none());
    let [skipped] = registry.skipped() else { panic!("{:?}", registry.skipped()) };
    assert_eq!((&*skipped.server, skipped.native_name.as_str()), ("my_api", "b"));
    assert!(skipped.reason.contains("`my-api`"), "{}", skipped.reason);
}

#[test]
fn names_with_double_underscores_resolve_to_the_first_server() {
    let first = part("a", &catalogue(&["b__c"]));
    let second = part("a__b", &catalogue(&["c"]));
    let registry = Registry::assemble(&[first, second]);
    assert_eq!(registry.len(), 1);
    let entry = registry.lookup("mcp__a__b__c").unwrap();
    assert_eq!((&*entry.server, entry.native_name()), ("a", "b__c"));
}

#[test]
fn long_colliding_names_are_skipped() {
    let long = "x".repeat(80);
    let (dash, dot) = (format!("{long}-y"), format!("{long}.y"));
    let part = part("s", &catalogue(&[&dash, &dot, &long]));
    assert_eq!((part.len(), part.skipped.len()), (1, 2));
}

#[test]
fn only_untrusted_writing_tools_need_approval() {
    let tools = json!({"tools": [
        {"name": "read", "annotations": {"readOnlyHint": true}},
        {"name": "lie", "annotations": {"readOnlyHint": "true"}},
        {"name": "write"},
    ]});
    let mut listed = ServerCatalogue { prompts: true, ..ServerCatalogue::default() };
    listed.add_page(tools_page(&tools.to_string(), HeaderMirroring::Ignore).unwrap());
    for (trust, expected) in [
        (Trust::Full, [false, false, false, false, false]),
        (Trust::Untrusted, [false, true, true, false, false]),
    ] {
        let part = ServerTools::build("s", &ToolPolicy::default(), trust, &listed);
        let gates: Vec<bool> = part.entries().map(RegisteredTool::needs_approval).collect();
        assert_eq!(gates, expected);
    }
}

#[test]
fn descriptions_are_sanitized_and_never_missing() {
    let tools = json!({"tools": [
        {"name": "a", "description": "does\u{E0041} a"},
        {"name": "b", "description": " \u{E0041}"},
        {"name": "c"},
    ]});
    let mut listed = ServerCatalogue::default();
    listed.add_page(tools_page(&tools.to_string(), HeaderMirroring::Ignore).unwrap());
    let part = part("s", &listed);
    let found: Vec<&str> = part.entries().map(|entry| &*entry.description).collect();
    assert_eq!(
        found,
        ["does a", "Tool `b` of the MCP server `s`.", "Tool `c` of the MCP server `s`."]
    );
}

#[test]
fn repeated_tools_on_later_pages_collapse_or_are_quarantined() {
    let mut listed = catalogue(&["a"]);
    listed.add_page(tools_page(r#"{"tools":[{"name":"a"},7]}"#, HeaderMirroring::Ignore).unwrap());
    let again = catalogue(&["a"]);
    listed.tools.extend(again.tools);
    let part = part("s", &listed);
    assert_eq!(part.len(), 1);
    let set_aside: Vec<&str> = part.quarantined.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(set_aside, ["#2", "a"]);
}

#[test]
fn schema_repairs_are_noted_and_the_original_kept() {
    let part = part("s", &catalogue(&["a"]));
    let entry = part.entries().next().unwrap();
    assert_eq!(*entry.schema, json!({"type": "object", "properties": {}}));
    let ToolAction::Tool(tool) = &entry.action else { panic!("{:?}", entry.action) };
    assert_eq!(*tool.input_schema, json!({"type": "object"}));
    let notes: Vec<String> = part.notes().collect();
    assert_eq!(notes, ["tool `a`: added the missing `properties` of an object"]);
}

#[test]
fn no_servers_result_in_an_empty_registry() {
    assert!(Registry::assemble(&[]).is_empty());
    assert!(Registry::default().lookup("x").is_none());
}

proptest! {
    #[test]
    fn names_and_provenance_are_unique(
        servers in prop::collection::vec(("[ab_.-]{1,3}", prop::collection::vec("[ab_.-]{1,4}|list_prompts|get-prompt", 0..6), any::<bool>()), 0..5)
    ) {
        let mut seen = HashSet::new();
        let parts: Vec<Arc<ServerTools>> = servers
            .iter()
            .filter(|(server, _, _)| seen.insert(server.clone()))
            .map(|(server, tools, prompts)| {
                let names: Vec<&str> = tools.iter().map(String::as_str).collect();
                part(server, &ServerCatalogue { prompts: *prompts, ..catalogue(&names) })
            })
            .collect();
        let registry = Registry::assemble(&parts);
        let names: HashSet<&str> = registry.entries().map(|entry| &*entry.name).collect();
        prop_assert_eq!(names.len(), registry.len());
        let origins: HashSet<(&str, &str, bool)> = registry
            .entries()
            .map(|entry| (&*entry.server, entry.native_name(), matches!(entry.action, ToolAction::Tool(_))))
            .collect();
        prop_assert_eq!(origins.len(), registry.len());
        for entry in registry.entries() {
            let found = registry.lookup(&entry.name).map(|found| (&found.server, found.native_name()));
            prop_assert_eq!(found, Some((&entry.server, entry.native_name())));
        }
        let whole: usize = parts.iter().map(|part| part.len() + part.skipped.len()).sum();
        prop_assert_eq!(registry.len() + registry.skipped().len(), whole);
    }
}
