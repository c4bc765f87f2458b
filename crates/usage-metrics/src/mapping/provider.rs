//! Families of providers, from one table.
//!
//! The table is used for `provider_family` only. Routes have the provider's own identifier without
//! aliases.

use std::borrow::Cow;

use super::normalise_optional;
use crate::catalogue::ProviderFamily::{self, Aggregator, Custom, Direct, Local};

#[cfg(test)]
mod tests;

/// All known providers by family, with their aliases: direct ones with their own models or machines,
/// aggregators of the models of many makers under one account, programs on the user's machine, and
/// addresses that the user configured. Names are sorted, in lower case, with `-` instead of `_`.
static PROVIDERS: [(ProviderFamily, &[&str]); 4] = [
    (
        Direct,
        &[
            "ai21", "alibaba", "alibaba-cloud", "aliyun", "amazon-bedrock", "anthropic", "arcee",
            "arcee-ai", "ark", "aws", "aws-bedrock", "azure", "azure-ai", "azure-foundry",
            "azure-openai", "baidu", "bailian", "baseten", "bedrock", "bigmodel", "bytedance",
            "cerebras", "chatgpt", "claude", "claude-code", "cloudflare-workers-ai", "codex",
            "cohere", "dashscope", "databricks", "deep-seek", "deepseek", "doubao", "ernie",
            "fireworks", "fireworks-ai", "gemini", "gemini-cli", "glm", "google",
            "google-ai-studio", "google-gemini", "google-vertex", "google-vertex-anthropic",
            "grok", "groq", "hunyuan", "ibm", "inception", "kimi", "kimi-coding",
            "kimi-for-coding", "llama-api", "meta", "meta-llama", "mimo", "minimax", "minimax-cn",
            "minimax-oauth", "mistral", "mistral-ai", "mistralai", "moonshot", "moonshot-ai",
            "moonshotai", "nim", "nvidia", "nvidia-nim", "ollama-cloud", "openai", "openai-api",
            "openai-codex", "perplexity", "pplx", "qianfan", "qwen", "qwen-oauth", "reka",
            "sambanova", "step", "stepfun", "tencent", "upstage", "vertex", "vertex-ai",
            "vertexai", "volcengine", "watsonx", "workers-ai", "writer", "x-ai", "x.ai", "xai",
            "xai-oauth", "xiaomi", "xiaomi-mimo", "z-ai", "z.ai", "zai", "zai-coding-plan",
            "zhipu", "zhipuai",
        ],
    ),
    (
        Aggregator,
        &[
            "ai-gateway", "aihubmix", "chutes", "cloudflare-ai-gateway", "copilot", "copilot-acp",
            "deep-infra", "deepinfra", "fastrouter", "featherless", "featherless-ai",
            "github-copilot", "github-copilot-acp", "github-models", "helicone", "hf",
            "hugging-face", "huggingface", "hyperbolic", "kilo", "kilo-code", "kilo-gateway",
            "kilocode", "litellm", "mixture-of-agents", "moa", "nano-gpt", "nanogpt", "nebius",
            "nous", "nous-portal", "novita", "novita-ai", "open-router", "opencode", "opencode-go",
            "opencode-zen", "openrouter", "poe", "portkey", "replicate", "requesty", "siliconflow",
            "synthetic", "together", "together-ai", "togetherai", "venice", "venice-ai", "vercel",
            "vercel-ai", "vercel-ai-gateway", "zenmux",
        ],
    ),
    (
        Local,
        &[
            "jan", "koboldcpp", "llama-cpp", "llama-server", "llama.cpp", "llamacpp", "llamafile",
            "lm-studio", "lmstudio", "local", "local-ai", "localai", "mlx", "mlx-lm", "ollama",
            "sglang", "vllm",
        ],
    ),
    (Custom, &["anthropic-compatible", "custom", "openai-compatible"]),
];

/// The family of a provider; a missing or unlisted provider is `unknown`.
pub fn family(provider: Option<&str>) -> ProviderFamily {
    let name = with_hyphens(normalise_optional(provider));
    if name.starts_with("custom-") || name.starts_with("custom:") {
        return Custom;
    }
    PROVIDERS
        .iter()
        .find(|(_, names)| names.contains(&name.as_ref()))
        .map_or(ProviderFamily::Unknown, |(family, _)| *family)
}

/// Replaces `_` by `-`; copies the name only if that changes it.
fn with_hyphens(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { name }
}
