//! The typed model, validator, schema, dense index and reference page agree with one table.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use usage_metrics::catalogue::{
    self, Cell, Domain, KINDS, Kind, RESOURCE, RESOURCE_KEYS, markdown,
};
use usage_metrics::schema::json_schema;
use usage_metrics::validate::validate;

use crate::fixtures::package_json;

/// The specification's tables, repeated on purpose.
const SPEC: &[(&str, &[(&str, &str)])] = &[
    ("agent.client.active", &[]),
    (
        "agent.model_call.count",
        &[
            ("call_role", "primary"),
            ("locality", "local, remote, unknown"),
            (
                "model_family",
                "claude, deepseek, gemini, gemma, glm, gpt, grok, kimi, llama, minimax, mimo, \
                 mistral, nemotron, nova, o1, o3, o4, qwen, step, trinity, unknown",
            ),
            ("outcome", "cancelled, failed, success"),
            ("provider_family", "aggregator, custom, direct, local, unknown"),
        ],
    ),
    ("agent.model_route.count", &[("model", "<256>"), ("provider", "<64>")]),
    ("agent.task_run.started", &[("entrypoint", ENTRYPOINT), ("execution_surface", SURFACE)]),
    (
        "agent.task_run.finished",
        &[
            ("duration_bucket", "lt_1s, 1s_to_5s, 5s_to_30s, 30s_to_2m, 2m_to_10m, gte_10m"),
            (
                "end_reason",
                "approval_denied, completed, failed, guardrail_blocked, iteration_limit, \
                 system_aborted, timed_out, unknown, user_cancelled",
            ),
            ("entrypoint", ENTRYPOINT),
            ("execution_surface", SURFACE),
            ("model_call_count_bucket", COUNT),
            ("outcome", "cancelled, failed, success, timed_out, unknown"),
            ("retry_count_bucket", COUNT),
            ("termination", "none, system_aborted, timed_out, unknown, user_cancelled"),
            ("tool_call_count_bucket", COUNT),
        ],
    ),
    (
        "agent.tool_call.count",
        &[
            ("approval_outcome", "approved, denied, not_required, timed_out, unknown"),
            (
                "latency_bucket",
                "lt_100ms, 100ms_to_250ms, 250ms_to_500ms, 500ms_to_1s, 1s_to_2s, 2s_to_5s, \
                 5s_to_10s, 10s_to_30s, gte_30s, unknown",
            ),
            ("outcome", "blocked, cancelled, failed, success, timed_out, unknown"),
            ("retry_count_bucket", "0, 1, 2, 3_to_5, 6_to_10, gte_11, unknown"),
            (
                "tool_category",
                "browser, code_execution, communication, computer_use, delegation, file, \
                 home_automation, mcp, media, memory, other, planning, project, scheduler, \
                 skill, terminal, unknown, web",
            ),
        ],
    ),
    (
        "agent.tool_approval.count",
        &[
            ("attribution", "tool_call, unattributed"),
            ("outcome", "approved, denied, timed_out, unknown"),
        ],
    ),
    (
        "agent.skill.lifecycle.count",
        &[
            ("action", "archived, created, edited, installed, patched, restored, stale"),
            ("provenance", PROVENANCE),
        ],
    ),
    (
        "agent.skill.load.count",
        &[
            ("post_patch_state", "no_new_patch, not_applicable, reused_after_patch"),
            ("provenance", PROVENANCE),
            ("reuse_state", "first_use, reused"),
            ("use_count_bucket", COUNT),
        ],
    ),
];
const ENTRYPOINT: &str = "api, background, batch, delegated, gateway_message, interactive, other, \
                          python, scheduled_task, unknown";
const SURFACE: &str =
    "api, batch, cli, desktop, gateway, other, python, scheduled_task, tui, unknown";
const COUNT: &str = "0, 1, 2, 3_to_5, 6_to_10, gte_11";
const PROVENANCE: &str = "agent_created, external, installed, local, unknown";
const RESOURCE_SPEC: &[(&str, &str)] = &[
    ("architecture", "arm, arm64, unknown, x86, x86_64"),
    ("install_method", "apt, docker, git, home-manager, homebrew, nixos, pip, unknown"),
    ("os_family", "linux, macos, unknown, windows"),
];

fn domain_text(domain: Domain) -> String {
    match domain {
        Domain::Listed(texts) => texts.join(", "),
        Domain::Identifier { max_chars } => format!("<{max_chars}>"),
    }
}

#[test]
fn table_matches_the_specification() {
    let ours: Vec<_> = KINDS
        .iter()
        .map(|spec| {
            let dimensions: Vec<_> =
                spec.dimensions.iter().map(|it| (it.key, domain_text(it.domain))).collect();
            (spec.name, dimensions)
        })
        .collect();
    let spec: Vec<_> = SPEC
        .iter()
        .map(|(name, dimensions)| {
            let dimensions: Vec<_> =
                dimensions.iter().map(|(key, values)| (*key, (*values).to_owned())).collect();
            (*name, dimensions)
        })
        .collect();
    assert_eq!(ours, spec);
    let resource: Vec<_> = RESOURCE.iter().map(|it| (it.key, domain_text(it.domain))).collect();
    let expected: Vec<_> =
        RESOURCE_SPEC.iter().map(|(key, values)| (*key, (*values).to_owned())).collect();
    assert_eq!(resource, expected);
}

#[test]
fn table_keys_are_in_package_order() {
    for spec in &KINDS {
        assert!(spec.keys.is_sorted(), "{}", spec.name);
        let keys: Vec<_> = spec.dimensions.iter().map(|it| it.key).collect();
        assert_eq!(keys, spec.keys);
    }
    assert!(RESOURCE_KEYS.is_sorted());
}

#[test]
fn dense_index_is_a_bijection() {
    let expected = [1, 945, 0, 100, 29_160_000, 37_800, 8, 35, 180];
    let cardinalities: Vec<_> =
        Kind::ALL.iter().map(|kind| kind.cardinality().unwrap_or(0)).collect();
    assert_eq!(cardinalities, expected);
    assert_eq!(Cell::COUNT, expected.iter().sum::<u32>());

    let mut by_kind: BTreeMap<Kind, BTreeSet<Vec<&str>>> = BTreeMap::new();
    // Every small kind completely; of the large one every 997th cell.
    for number in (0..Cell::COUNT).filter(|number| {
        let kind = Cell::from_number(*number).unwrap().kind();
        kind != Kind::TaskFinished || number % 997 == 0
    }) {
        let cell = Cell::from_number(number).unwrap();
        let values = cell.values();
        assert_eq!(Cell::find(cell.kind(), values.iter().copied()), Some(cell));
        assert!(by_kind.entry(cell.kind()).or_default().insert(values), "{number} is not unique");
    }
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::TaskFinished) {
        let seen = by_kind.get(kind).map_or(0, BTreeSet::len);
        assert_eq!(u32::try_from(seen).unwrap(), kind.cardinality().unwrap_or(0), "{kind:?}");
    }
    assert_eq!(Cell::from_number(Cell::COUNT), None);
}

#[test]
fn typed_events_map_to_the_cell_of_their_texts() {
    let event = catalogue::ToolCall {
        approval_outcome: catalogue::CallApproval::Denied,
        latency_bucket: catalogue::LatencyBucket::From5sTo10s,
        outcome: catalogue::ToolOutcome::Blocked,
        retry_count_bucket: catalogue::RetryBucket::Unknown,
        tool_category: catalogue::ToolCategory::Web,
    };
    let cell = Cell::of(&event);
    assert_eq!(cell.kind(), Kind::ToolCall);
    assert_eq!(cell.values(), ["denied", "5s_to_10s", "blocked", "unknown", "web"]);
    let active = Cell::of(&catalogue::ClientActive {});
    assert_eq!((active.kind(), active.values().len()), (Kind::ClientActive, 0));
}

/// A valid entry of a kind, every dimension at its first value.
fn entry(kind: Kind) -> Value {
    let spec = kind.spec();
    let dimensions: serde_json::Map<_, _> = spec
        .dimensions
        .iter()
        .map(|dimension| {
            let value = match dimension.domain {
                Domain::Listed(texts) => texts[0],
                Domain::Identifier { .. } => "m",
            };
            (dimension.key.to_owned(), json!(value))
        })
        .collect();
    json!({ "name": spec.name, "type": "counter", "dimensions": dimensions, "value": 1 })
}

#[test]
fn validator_and_schema_accept_exactly_the_listed_values() {
    let oracle = crate::oracle::oracle();
    let check = |document: &Value, expected: bool| {
        let bytes = serde_json::to_vec(document).unwrap();
        let verdict = validate(&bytes);
        assert_eq!(verdict.is_valid(), expected, "{document} {:?}", verdict.violations);
        assert_eq!(oracle.accepts(document), expected, "{document}");
    };
    for kind in Kind::ALL {
        for dimension in kind.spec().dimensions {
            let mut changed = entry(*kind);
            let mut set = |text: &str, expected: bool| {
                changed["dimensions"][dimension.key] = json!(text);
                check(&package_json(&json!([changed])), expected);
            };
            match dimension.domain {
                Domain::Listed(texts) => {
                    let all: BTreeSet<_> = texts.iter().copied().collect();
                    for text in texts {
                        set(text, true);
                        for near in [format!("{text}x"), text.to_uppercase(), text[1..].to_owned()]
                        {
                            set(&near, all.contains(near.as_str()));
                        }
                    }
                }
                Domain::Identifier { max_chars } => {
                    set(&"a".repeat(max_chars), true);
                    set(&"a".repeat(max_chars + 1), false);
                    set("", false);
                    for byte in 0..=127_u8 {
                        let letter = char::from(byte);
                        set(&letter.to_string(), matches!(letter, 'a'..='z' | '0'..='9'));
                        let inside =
                            matches!(letter, 'a'..='z' | '0'..='9') || "._:/@+-".contains(letter);
                        set(&format!("a{letter}"), inside);
                    }
                    set("é", false);
                }
            }
        }
    }
    for field in RESOURCE {
        let Domain::Listed(texts) = field.domain else {
            continue;
        };
        for text in texts {
            let mut document = package_json(&json!([entry(Kind::ClientActive)]));
            document["resource"][field.key] = json!(text);
            check(&document, true);
            document["resource"][field.key] = json!(format!("{text} "));
            check(&document, false);
        }
    }
}

#[test]
fn schema_lists_every_value_of_the_table() {
    let schema = json_schema();
    let kinds = schema["properties"]["metrics"]["items"]["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), KINDS.len());
    for (entry, spec) in kinds.iter().zip(&KINDS) {
        let properties = &entry["properties"];
        assert_eq!(properties["name"]["const"], spec.name);
        assert_eq!(entry["additionalProperties"], false);
        let dimensions = properties["dimensions"]["properties"].as_object().unwrap();
        assert!(dimensions.keys().eq(spec.keys), "{}", spec.name);
        for dimension in spec.dimensions {
            let schema = &dimensions[dimension.key];
            match dimension.domain {
                Domain::Listed(texts) => assert_eq!(schema["enum"], json!(texts)),
                Domain::Identifier { max_chars } => assert_eq!(schema["maxLength"], max_chars),
            }
        }
    }
}

#[test]
fn reference_page_names_every_kind_dimension_and_value() {
    let page = markdown();
    for spec in &KINDS {
        let section = page.split(&format!("## {}\n", spec.name)).nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(rows.len(), spec.dimensions.len(), "{}", spec.name);
        for (row, dimension) in rows.iter().zip(spec.dimensions) {
            let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells[0], dimension.key);
            if let Domain::Listed(texts) = dimension.domain {
                let listed: Vec<_> =
                    cells[2].split(", ").map(|value| value.trim_matches('`')).collect();
                assert_eq!(listed, texts);
            }
        }
    }
}
