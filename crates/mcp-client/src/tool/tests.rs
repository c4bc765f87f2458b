//! Tools as servers really list them.

use super::*;
use proptest::prelude::*;

fn page(result: &Value) -> ListPage<Tool> {
    tools_page(&result.to_string(), HeaderMirroring::Mirror).unwrap()
}

fn good(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": {}}})
}

fn names(page: &ListPage<Tool>) -> Vec<&str> {
    page.items.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn each_defect_quarantines_only_its_tool() {
    let deep = (0..MAX_SCHEMA_DEPTH).fold(json!({}), |inner, _| json!({"items": inner}));
    for (bad, name, reason) in [
        (json!("text"), "#2", "expected an object, found a string"),
        (json!({}), "#2", "it has no `name`"),
        (json!({"name": 7}), "#2", "its `name` is not a string"),
        (json!({"name": "  "}), "#2", "its `name` is empty"),
        (json!({"name": "a\u{1b}[2J"}), "a\\u{1b}[2J", "its `name` contains control characters"),
        (
            json!({"name": "b", "inputSchema": []}),
            "b",
            "its `inputSchema` must be an object, found a list",
        ),
        (
            json!({"name": "b", "inputSchema": "{}"}),
            "b",
            "its `inputSchema` must be an object, found a string",
        ),
        (
            json!({"name": "b", "inputSchema": false}),
            "b",
            "its `inputSchema` must be an object, found a boolean",
        ),
        (
            json!({"name": "b", "inputSchema": deep}),
            "b",
            "a schema is nested deeper than 64 levels",
        ),
        (
            json!({"name": "b", "inputSchema": {"properties": {"x": {"type": "number", "x-mcp-header": "X"}}}}),
            "b",
            "property `x`: `x-mcp-header` is on a property that is not a string, integer or \
             boolean",
        ),
    ] {
        let page = page(&json!({"tools": [good("first"), bad, good("last")]}));
        assert_eq!(names(&page), ["first", "last"], "{name} {reason}");
        let expected = QuarantinedItem { name: name.to_owned(), reason: reason.to_owned() };
        assert_eq!(page.quarantined, [expected]);
    }
}

#[test]
fn oversized_definitions_are_quarantined() {
    let mut large = good("large");
    large["description"] = "x".repeat(MAX_TOOL_BYTES).into();
    let page = page(&json!({"tools": [large, good("small")]}));
    assert_eq!(names(&page), ["small"]);
    assert_eq!(page.quarantined[0].name, "large");
    assert!(page.quarantined[0].reason.contains("the limit is 262144"));
}

#[test]
fn oversized_names_are_quarantined() {
    let page = page(&json!({"tools": [
        good(&"n".repeat(MAX_NATIVE_NAME_BYTES)),
        good(&"n".repeat(MAX_NATIVE_NAME_BYTES + 1)),
    ]}));
    assert_eq!((page.items.len(), page.quarantined.len()), (1, 1));
    assert!(page.quarantined[0].name.len() < 200);
}

#[test]
fn too_deep_nesting_quarantines_only_its_tool() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let result = format!(r#"{{"tools":[{{"name":"deep","x":{nested}}},{}]}}"#, good("flat"));
    let page = tools_page(&result, HeaderMirroring::Ignore).unwrap();
    assert_eq!(names(&page), ["flat"]);
    assert_eq!(page.quarantined[0].name, "deep");
}

#[test]
fn missing_and_true_schemas_are_repaired_with_a_note() {
    let page = page(&json!({"tools": [
        {"name": "a"},
        {"name": "b", "inputSchema": null},
        {"name": "c", "inputSchema": true},
    ]}));
    assert_eq!(names(&page), ["a", "b", "c"]);
    assert_eq!(page.notes.len(), 3);
    assert!(
        page.items
            .iter()
            .all(|tool| *tool.input_schema == json!({"type": "object", "properties": {}}))
    );
}

#[test]
fn only_real_booleans_are_hints() {
    for (hint, expected) in [
        (json!(true), true),
        (json!(false), false),
        (json!("true"), false),
        (json!(1), false),
        (Value::Null, false),
    ] {
        let mut tool = good("a");
        tool["annotations"] = json!({"readOnlyHint": hint});
        assert_eq!(page(&json!({"tools": [tool]})).items[0].read_only(), expected, "{hint}");
    }
    let mut odd = good("a");
    odd["annotations"] = json!("nonsense");
    assert!(!page(&json!({"tools": [odd]})).items[0].read_only());
}

#[test]
fn equal_duplicates_collapse_and_different_ones_are_quarantined() {
    let mut other = good("a");
    other["description"] = "another".into();
    let result = format!(
        r#"{{"tools":[{},{{"inputSchema":{{"properties":{{}},"type":"object"}},"name":"a"}},{other}]}}"#,
        good("a")
    );
    let page = tools_page(&result, HeaderMirroring::Ignore).unwrap();
    assert_eq!(names(&page), ["a"]);
    assert!(page.items[0].description.is_none());
    assert_eq!(page.quarantined.len(), 1);
}

#[test]
fn fields_around_the_list_are_parsed_leniently() {
    let page = page(&json!({"tools": [], "content": 3, "nextCursor": 7}));
    assert_eq!(page.next_cursor, Some("7".to_owned()));
    assert!(page.notes[0].contains("nextCursor"));
}

#[test]
fn header_parameters_are_mirrored_only_if_the_transport_does() {
    let tool = json!({"name": "sql", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}}}});
    let result = json!({"tools": [tool]}).to_string();
    let arguments = json!({"region": "us-west1"});
    for (rule, expected) in [
        (HeaderMirroring::Mirror, vec![("Mcp-Param-Region".to_owned(), "us-west1".to_owned())]),
        (HeaderMirroring::Ignore, vec![]),
    ] {
        let page = tools_page(&result, rule).unwrap();
        assert_eq!(page.items[0].param_headers(&arguments), expected);
    }
}

#[test]
fn the_digest_is_independent_of_key_order() {
    let digest = |text: &str| {
        let page =
            tools_page(&format!(r#"{{"tools":[{text}]}}"#), HeaderMirroring::Ignore).unwrap();
        page.items[0].digest()
    };
    let base = digest(r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":1}}"#);
    assert_eq!(base.len(), 64);
    assert_eq!(
        base,
        digest(
            r#"{"title":"t","inputSchema":{"x":1,"type":"object"},"name":"a","description":"d"}"#
        )
    );
    for changed in [
        r#"{"name":"a","description":"e","inputSchema":{"type":"object","x":1}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":2}}"#,
        r#"{"name":"a","inputSchema":{"type":"object","x":1}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":1},"outputSchema":{}}"#,
        r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":1},"annotations":{"readOnlyHint":true}}"#,
    ] {
        assert_ne!(base, digest(changed), "{changed}");
    }
}

/// Any small JSON.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![
        prop::sample::select(vec![
            "name", "inputSchema", "type", "properties", "required", "annotations", "readOnlyHint",
            "tools", "content", "text", "data", "resource", "uri", "blob", "nextCursor", "ttlMs",
        ])
        .prop_map(str::to_owned),
        "[a-z]{0,3}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(vec!["object", "array", "text", "image", "resource"])
            .prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn valid_tools_survive_any_other_tools(company in prop::collection::vec(any_json(), 0..6), at in 0_usize..6) {
        let mut tools = company;
        tools.insert(at.min(tools.len()), good("the good one"));
        let page = page(&json!({"tools": tools}));
        prop_assert!(names(&page).contains(&"the good one"));
        prop_assert!(page.items.len() + page.quarantined.len() <= tools.len());
    }

    #[test]
    fn any_input_is_decoded_without_panic(value in any_json(), text in ".{0,40}") {
        for result in [value.to_string(), text, json!({"tools": value.clone()}).to_string(),
            json!({"prompts": value.clone()}).to_string(), json!({"resources": value}).to_string()]
        {
            drop(tools_page(&result, HeaderMirroring::Mirror));
            drop(prompts_page(&result));
            drop(resources_page(&result));
            drop(templates_page(&result));
        }
    }
}

#[test]
fn tools_that_require_or_support_tasks_run_as_tasks() {
    let tool = |name: &str, support: Value| json!({"name": name, "inputSchema": {"type": "object"}, "execution": support});
    let page = page(&json!({"tools": [
        tool("required", json!({"taskSupport": "required"})),
        tool("optional", json!({"taskSupport": "optional"})),
        tool("forbidden", json!({"taskSupport": "forbidden"})),
        tool("odd", json!("required")),
        tool("silent", Value::Null),
    ]}));
    let as_tasks = page.items.iter().filter(|tool| tool.runs_as_task);
    assert_eq!(as_tasks.map(|tool| &*tool.name).collect::<Vec<_>>(), ["required", "optional"]);
    assert_eq!(page.items.len(), 5);
}
