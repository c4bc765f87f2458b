//! Every row of the model tables, and the edges between them.

use super::*;

fn named(model: &str) -> ModelFamily {
    family(Some(model), None)
}

#[test]
fn family_is_found_among_the_words_of_the_name() {
    let rows = [
        ("gpt4", ModelFamily::Gpt),
        ("o10", ModelFamily::O1),
        ("gpt-oss:120b", ModelFamily::Gpt),
        ("meta-llama/Llama-3.3", ModelFamily::Llama),
        ("nvidia/llama-3.1-nemotron-70b", ModelFamily::Llama),
        ("deepseek-r1-distill-llama-70b", ModelFamily::Deepseek),
        ("amazon.nova-pro", ModelFamily::Nova),
        ("us.anthropic.claude-3", ModelFamily::Claude),
        ("stepfun/step3", ModelFamily::Step),
        ("gemma2:9b", ModelFamily::Gemma),
        ("Qwen/Qwen3-Coder", ModelFamily::Qwen),
        ("o3", ModelFamily::O3),
        ("openai/o4-mini", ModelFamily::O4),
        ("moonshotai/kimi_k2", ModelFamily::Kimi),
        (" GLM-4.6 ", ModelFamily::Glm),
        ("my_minimax", ModelFamily::Minimax),
    ];
    for (model, expected) in rows {
        assert_eq!(named(model), expected, "{model}");
    }
}

#[test]
fn part_of_a_word_is_not_a_family() {
    let unknown = [
        "chatgpt-4o-latest", "codellama-7b", "mixtral-8x7b", "ministral-8b", "qwq-32b", "chatglm3",
        "claudex", "phi-4", "claude@1", "nova+x", "unknown", "unknown-model", "gptö", "gpt\u{664}",
        "öö", "", "-/_.:",
    ];
    for model in unknown {
        assert_eq!(named(model), ModelFamily::Unknown, "{model}");
    }
}

#[test]
fn every_family_is_found_by_its_own_name() {
    for expected in ModelFamily::ALL {
        let name = expected.text();
        for model in
            [name.to_owned(), format!("x/{name}"), format!("x.{name}-y"), name.to_uppercase()]
        {
            assert_eq!(named(&model), *expected, "{model}");
        }
    }
}

#[test]
fn no_family_name_has_a_separator_in_it() {
    for name in ModelFamily::TEXTS {
        assert!(!name.contains(SEPARATORS), "{name}");
    }
}

#[test]
fn requested_model_is_used_only_without_a_response_model() {
    assert_eq!(family(Some("claude-3"), Some("gpt-4")), ModelFamily::Claude);
    assert_eq!(family(None, Some("gpt-4")), ModelFamily::Gpt);
    assert_eq!(family(Some(" "), Some("gpt-4")), ModelFamily::Gpt);
    assert_eq!(family(Some("phi-4"), Some("gpt-4")), ModelFamily::Unknown);
    assert_eq!(family(None, None), ModelFamily::Unknown);
}
