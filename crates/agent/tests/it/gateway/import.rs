//! The configuration of a LiteLLM proxy is converted.

use std::fs;

use agent_test_support::command::ProgramOutput;

use super::{Fixture, settings};

/// As its documentation shows them: deployments of one group, fallbacks, an alias, wildcards.
const PROXY: &str = r#"model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY
      rpm: 6
  - model_name: gpt-4o
    litellm_params:
      model: azure/gpt-4o-eu
      api_base: os.environ/AZURE_API_BASE
      api_key: os.environ/AZURE_API_KEY
      api_version: "2023-07-01-preview"
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o-mirror
      api_base: https://mirror.example.com/v1
      api_key: sk-not-to-be-copied
      rpm: 3
  - model_name: claude
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      api_key: os.environ/ANTHROPIC_API_KEY
      input_cost_per_token: 0.000003
    model_info:
      max_input_tokens: 200000
  - model_name: embed
    litellm_params: {model: text-embedding-3-small, api_key: os.environ/OPENAI_API_KEY}
    model_info: {mode: embedding}
  - model_name: picture
    litellm_params: {model: openai/gpt-image-1, api_key: os.environ/OPENAI_API_KEY}
    model_info: {mode: image_generation, output_cost_per_image: 0.04}
  - model_name: "groq/*"
    litellm_params: {model: "groq/*"}
  - model_name: here
    litellm_params: {model: ollama/llama3.2, api_base: "http://localhost:11434"}
  - model_name: cloud
    litellm_params: {model: bedrock/anthropic.claude-v2}
litellm_settings:
  drop_params: true
  fallbacks: [{"gpt-4o": ["claude"]}, {"claude": ["gpt-4o"]}]
  default_key_generate_params: {max_budget: 2.5, budget_duration: 30d, rpm_limit: 60, tpm_limit: 1000}
router_settings:
  model_group_alias: {"gpt-4": "gpt-4o"}
  routing_strategy: simple-shuffle
general_settings:
  master_key: sk-1234
  database_url: "postgresql://u:p@h:5432/d"
"#;

#[test]
fn an_imported_litellm_configuration_passes_the_check() {
    let fixture = Fixture::bare();
    fs::write(fixture.agent.work().join("config.yaml"), PROXY).unwrap();
    let run = fixture.run(["import", "litellm", "config.yaml", "--output", "new.yaml"]);
    assert_eq!(run.code, 0, "{run:?}");
    let written = fs::read_to_string(fixture.agent.work().join("new.yaml")).unwrap();
    assert!(!written.contains("sk-"), "no secret is copied: {written}");
    settings().bind(|| insta::assert_snapshot!(format!("{written}\n{}", run.stderr)));
    let mut check = fixture.command(["provider", "list", "--config", "new.yaml", "--json"]);
    for name in ["OPENAI_API_KEY", "OPENAI_2_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"] {
        check.env(name, "key");
    }
    check.env("AZURE_API_BASE", "https://azure.example.com").env("AZURE_API_KEY", "key");
    check.env("GATEWAY_ADMIN_TOKEN", "a-token-of-at-least-32-characters-in-all");
    let list = ProgramOutput::of(&mut check, b"");
    assert_eq!((list.code, &*list.stderr), (0, ""), "{list:?}");
    assert_eq!(list.stdout.matches("\"kind\"").count(), 5, "{list:?}");
    let again = fixture.run(["import", "litellm", "config.yaml", "--output", "new.yaml"]);
    assert_eq!(again.code, 1, "nothing is overwritten: {again:?}");
}

#[test]
fn imported_key_budgets_keep_their_period() {
    let fixture = Fixture::bare();
    for (duration, taken) in [
        ("1d", "budget: {amount_micros: 2000000, period: day}"),
        ("7d", "budget: {amount_micros: 2000000, period: week}"),
        ("30d", "budget: {amount_micros: 2000000, period: month}"),
        ("1mo", "budget: {amount_micros: 2000000, period: month}"),
        ("null", "spend_micros: 2000000"),
        ("45d", ""),
    ] {
        let text = format!(
            "litellm_settings:\n  default_key_generate_params: \
             {{max_budget: 2, budget_duration: {duration}}}\n"
        );
        fs::write(fixture.agent.work().join("config.yaml"), text).unwrap();
        let run = fixture.run(["import", "litellm", "config.yaml"]);
        let expected = format!("new_keys: {{{taken}}}");
        assert_eq!(run.stdout.contains(&expected), !taken.is_empty(), "{duration}: {run:?}");
        let is_left = run.stderr.contains("max_budget: no period of 45d; use day, week or month");
        assert_eq!(is_left, taken.is_empty(), "{duration}: {run:?}");
    }
}

#[test]
fn unconvertible_files_are_reported() {
    let fixture = Fixture::bare();
    assert_eq!(fixture.run(["import", "litellm", "none.yaml"]).code, 1);
    fs::write(fixture.agent.work().join("bad.yaml"), "model_list: [").unwrap();
    let run = fixture.run(["import", "litellm", "bad.yaml"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("bad.yaml:1:"), "{run:?}");
    fs::write(fixture.agent.work().join("empty.yaml"), "model_list: [1]\nmore: 2\n").unwrap();
    let run = fixture.run(["import", "litellm", "empty.yaml"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("empty.yaml:2: more: no equivalent"), "{run:?}");
}
