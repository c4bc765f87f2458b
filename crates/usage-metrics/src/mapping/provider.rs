//! Families of providers, from one table.
//!
//! The table is used for `provider_family` only. Routes have the provider's own identifier without
//! aliases.

use std::borrow::Cow;

use super::normalise_optional;
use crate::catalogue::ProviderFamily::{self, Aggregator, Custom, Direct, Local};

#[cfg(test)]
mod tests;

/// All known providers, sorted by name: direct ones with their own models or machines, aggregators of
/// the models of many makers under one account, programs on the user's machine, and addresses that
/// the user configured. Names and aliases are in lower case, with `-` instead of `_`.
static PROVIDERS: &[(ProviderFamily, &str, &[&str])] = &[
    (Direct, "ai21", &[]),
    (Aggregator, "aihubmix", &[]),
    (Direct, "alibaba", &["alibaba-cloud", "aliyun", "bailian", "dashscope", "qwen", "qwen-oauth"]),
    (Direct, "amazon-bedrock", &["aws", "aws-bedrock", "bedrock"]),
    (Direct, "anthropic", &["claude", "claude-code"]),
    (Direct, "arcee", &["arcee-ai"]),
    (Direct, "azure", &["azure-ai", "azure-foundry", "azure-openai"]),
    (Direct, "baidu", &["ernie", "qianfan"]),
    (Direct, "baseten", &[]),
    (Direct, "cerebras", &[]),
    (Aggregator, "chutes", &[]),
    (Aggregator, "cloudflare-ai-gateway", &[]),
    (Direct, "cloudflare-workers-ai", &["workers-ai"]),
    (Direct, "cohere", &[]),
    (Aggregator, "copilot-acp", &["github-copilot-acp"]),
    (Custom, "custom", &["anthropic-compatible", "openai-compatible"]),
    (Direct, "databricks", &[]),
    (Aggregator, "deepinfra", &["deep-infra"]),
    (Direct, "deepseek", &["deep-seek"]),
    (Aggregator, "fastrouter", &[]),
    (Aggregator, "featherless", &["featherless-ai"]),
    (Direct, "fireworks", &["fireworks-ai"]),
    (Aggregator, "github-copilot", &["copilot"]),
    (Aggregator, "github-models", &[]),
    (Direct, "google", &["gemini", "gemini-cli", "google-ai-studio", "google-gemini"]),
    (Direct, "google-vertex", &["google-vertex-anthropic", "vertex", "vertex-ai", "vertexai"]),
    (Direct, "groq", &[]),
    (Aggregator, "helicone", &[]),
    (Aggregator, "huggingface", &["hf", "hugging-face"]),
    (Aggregator, "hyperbolic", &[]),
    (Direct, "ibm", &["watsonx"]),
    (Direct, "inception", &[]),
    (Local, "jan", &[]),
    (Aggregator, "kilocode", &["kilo", "kilo-code", "kilo-gateway"]),
    (Local, "koboldcpp", &[]),
    (Aggregator, "litellm", &[]),
    (Local, "llama.cpp", &["llama-cpp", "llama-server", "llamacpp", "llamafile"]),
    (Local, "lmstudio", &["lm-studio"]),
    (Local, "local", &[]),
    (Local, "localai", &["local-ai"]),
    (Direct, "meta", &["llama-api", "meta-llama"]),
    (Direct, "minimax", &["minimax-cn", "minimax-oauth"]),
    (Direct, "mistral", &["mistral-ai", "mistralai"]),
    (Local, "mlx", &["mlx-lm"]),
    (Aggregator, "moa", &["mixture-of-agents"]),
    (Direct, "moonshot", &["kimi", "kimi-coding", "kimi-for-coding", "moonshot-ai", "moonshotai"]),
    (Aggregator, "nano-gpt", &["nanogpt"]),
    (Aggregator, "nebius", &[]),
    (Aggregator, "nous", &["nous-portal"]),
    (Aggregator, "novita", &["novita-ai"]),
    (Direct, "nvidia", &["nim", "nvidia-nim"]),
    (Local, "ollama", &[]),
    (Direct, "ollama-cloud", &[]),
    (Direct, "openai", &["chatgpt", "codex", "openai-api", "openai-codex"]),
    (Aggregator, "opencode", &["opencode-go", "opencode-zen"]),
    (Aggregator, "openrouter", &["open-router"]),
    (Direct, "perplexity", &["pplx"]),
    (Aggregator, "poe", &[]),
    (Aggregator, "portkey", &[]),
    (Direct, "reka", &[]),
    (Aggregator, "replicate", &[]),
    (Aggregator, "requesty", &[]),
    (Direct, "sambanova", &[]),
    (Local, "sglang", &[]),
    (Aggregator, "siliconflow", &[]),
    (Direct, "stepfun", &["step"]),
    (Aggregator, "synthetic", &[]),
    (Direct, "tencent", &["hunyuan"]),
    (Aggregator, "togetherai", &["together", "together-ai"]),
    (Direct, "upstage", &[]),
    (Aggregator, "venice", &["venice-ai"]),
    (Aggregator, "vercel-ai-gateway", &["ai-gateway", "vercel", "vercel-ai"]),
    (Local, "vllm", &[]),
    (Direct, "volcengine", &["ark", "bytedance", "doubao"]),
    (Direct, "writer", &[]),
    (Direct, "xai", &["grok", "x-ai", "x.ai", "xai-oauth"]),
    (Direct, "xiaomi", &["mimo", "xiaomi-mimo"]),
    (Direct, "zai", &["bigmodel", "glm", "z-ai", "z.ai", "zai-coding-plan", "zhipu", "zhipuai"]),
    (Aggregator, "zenmux", &[]),
];

/// The family of a provider; a missing or unlisted provider is `unknown`.
pub fn family(provider: Option<&str>) -> ProviderFamily {
    let name = with_hyphens(normalise_optional(provider));
    if name.starts_with("custom-") || name.starts_with("custom:") {
        return Custom;
    }
    PROVIDERS
        .iter()
        .find(|(_, known, aliases)| *known == name || aliases.contains(&name.as_ref()))
        .map_or(ProviderFamily::Unknown, |(family, ..)| *family)
}

/// Replaces `_` by `-`; copies the name only if that changes it.
fn with_hyphens(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { name }
}
