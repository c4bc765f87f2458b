//! Every row of the provider tables, and the edges between them.

use std::collections::HashSet;

use super::*;

#[test]
fn provider_is_found_by_name_and_alias() {
    let rows = [
        ("mlx", ProviderFamily::Local),
        ("ollama", ProviderFamily::Local),
        ("lmstudio", ProviderFamily::Local),
        ("LM_Studio", ProviderFamily::Local),
        ("local", ProviderFamily::Local),
        ("llama.cpp", ProviderFamily::Local),
        ("vllm", ProviderFamily::Local),
        ("copilot-acp", ProviderFamily::Aggregator),
        ("copilot_acp", ProviderFamily::Aggregator),
        ("github-copilot", ProviderFamily::Aggregator),
        ("moa", ProviderFamily::Aggregator),
        ("nous", ProviderFamily::Aggregator),
        ("openrouter", ProviderFamily::Aggregator),
        ("together", ProviderFamily::Aggregator),
        ("huggingface", ProviderFamily::Aggregator),
        ("kilocode", ProviderFamily::Aggregator),
        ("opencode-zen", ProviderFamily::Aggregator),
        ("vercel", ProviderFamily::Aggregator),
        ("openai", ProviderFamily::Direct),
        (" Anthropic ", ProviderFamily::Direct),
        ("gemini", ProviderFamily::Direct),
        ("xai", ProviderFamily::Direct),
        ("mistral", ProviderFamily::Direct),
        ("deepseek", ProviderFamily::Direct),
        ("kimi_for_coding", ProviderFamily::Direct),
        ("z.ai", ProviderFamily::Direct),
        ("qwen", ProviderFamily::Direct),
        ("minimax", ProviderFamily::Direct),
        ("nvidia", ProviderFamily::Direct),
        ("bedrock", ProviderFamily::Direct),
        ("azure", ProviderFamily::Direct),
        ("vertex", ProviderFamily::Direct),
        ("groq", ProviderFamily::Direct),
        ("cerebras", ProviderFamily::Direct),
        ("fireworks", ProviderFamily::Direct),
        ("cohere", ProviderFamily::Direct),
        ("perplexity", ProviderFamily::Direct),
        ("xiaomi", ProviderFamily::Direct),
        ("stepfun", ProviderFamily::Direct),
        ("ollama-cloud", ProviderFamily::Direct),
    ];
    for (provider, expected) in rows {
        assert_eq!(family(Some(provider)), expected, "{provider}");
    }
}

#[test]
fn names_with_custom_are_custom() {
    for provider in
        ["custom", "Custom", "custom-ollama", "custom_home", "custom:ollama", "custom:", "custom-"]
    {
        assert_eq!(family(Some(provider)), ProviderFamily::Custom, "{provider}");
    }
    assert_eq!(family(Some("openai-compatible")), ProviderFamily::Custom);
}

#[test]
fn missing_or_unlisted_provider_is_unknown() {
    assert_eq!(family(None), ProviderFamily::Unknown);
    for provider in ["", " ", "acme", "customer", "custom.x", "unknown", "openai/gpt", "ollama2"] {
        assert_eq!(family(Some(provider)), ProviderFamily::Unknown, "{provider:?}");
    }
}

#[test]
fn every_name_finds_its_row() {
    for (expected, names) in PROVIDERS {
        for name in names {
            assert_eq!(family(Some(name)), expected, "{name}");
            assert_eq!(family(Some(&name.replace('-', "_"))), expected, "{name}");
        }
    }
}

#[test]
fn names_in_the_table_are_normalised_and_unique() {
    let mut seen = HashSet::new();
    for name in PROVIDERS.iter().flat_map(|(_, names)| *names) {
        assert_eq!(with_hyphens(normalise_optional(Some(name))), *name);
        assert!(!name.is_empty());
        assert!(seen.insert(name), "{name} is listed twice");
    }
}

#[test]
fn provider_names_are_sorted() {
    for (family, names) in PROVIDERS {
        assert!(names.is_sorted(), "{family}");
    }
}
