//! Families of providers, from one table.
//!
//! The table is used for `provider_family` only. Routes have the provider's own identifier without
//! aliases.

use std::borrow::Cow;

use super::normalise_optional;
use crate::catalogue::ProviderFamily;

#[cfg(test)]
mod tests;

/// A known provider.
struct Provider {
    /// The name in lower case, with `-` instead of `_`, like the aliases.
    name: &'static str,
    /// Other names.
    aliases: &'static [&'static str],
    /// The family.
    family: ProviderFamily,
}

/// A provider with its own models or machines: a maker, a cloud, an inference host.
const fn direct(name: &'static str, aliases: &'static [&'static str]) -> Provider {
    Provider { name, aliases, family: ProviderFamily::Direct }
}

/// A provider of the models of many makers under one account.
const fn aggregator(name: &'static str, aliases: &'static [&'static str]) -> Provider {
    Provider { name, aliases, family: ProviderFamily::Aggregator }
}

/// A program that runs models on the user's machine.
const fn local(name: &'static str, aliases: &'static [&'static str]) -> Provider {
    Provider { name, aliases, family: ProviderFamily::Local }
}

/// An address that the user configured.
const fn custom(name: &'static str, aliases: &'static [&'static str]) -> Provider {
    Provider { name, aliases, family: ProviderFamily::Custom }
}

/// All known providers, sorted by name.
static PROVIDERS: &[Provider] = &[
    direct("ai21", &[]),
    aggregator("aihubmix", &[]),
    direct("alibaba", &["alibaba-cloud", "aliyun", "bailian", "dashscope", "qwen", "qwen-oauth"]),
    direct("amazon-bedrock", &["aws", "aws-bedrock", "bedrock"]),
    direct("anthropic", &["claude", "claude-code"]),
    direct("arcee", &["arcee-ai"]),
    direct("azure", &["azure-ai", "azure-foundry", "azure-openai"]),
    direct("baidu", &["ernie", "qianfan"]),
    direct("baseten", &[]),
    direct("cerebras", &[]),
    aggregator("chutes", &[]),
    aggregator("cloudflare-ai-gateway", &[]),
    direct("cloudflare-workers-ai", &["workers-ai"]),
    direct("cohere", &[]),
    aggregator("copilot-acp", &["github-copilot-acp"]),
    custom("custom", &["anthropic-compatible", "openai-compatible"]),
    direct("databricks", &[]),
    aggregator("deepinfra", &["deep-infra"]),
    direct("deepseek", &["deep-seek"]),
    aggregator("fastrouter", &[]),
    aggregator("featherless", &["featherless-ai"]),
    direct("fireworks", &["fireworks-ai"]),
    aggregator("github-copilot", &["copilot"]),
    aggregator("github-models", &[]),
    direct("google", &["gemini", "gemini-cli", "google-ai-studio", "google-gemini"]),
    direct("google-vertex", &["google-vertex-anthropic", "vertex", "vertex-ai", "vertexai"]),
    direct("groq", &[]),
    aggregator("helicone", &[]),
    aggregator("huggingface", &["hf", "hugging-face"]),
    aggregator("hyperbolic", &[]),
    direct("ibm", &["watsonx"]),
    direct("inception", &[]),
    local("jan", &[]),
    aggregator("kilocode", &["kilo", "kilo-code", "kilo-gateway"]),
    local("koboldcpp", &[]),
    aggregator("litellm", &[]),
    local("llama.cpp", &["llama-cpp", "llama-server", "llamacpp", "llamafile"]),
    local("lmstudio", &["lm-studio"]),
    local("local", &[]),
    local("localai", &["local-ai"]),
    direct("meta", &["llama-api", "meta-llama"]),
    direct("minimax", &["minimax-cn", "minimax-oauth"]),
    direct("mistral", &["mistral-ai", "mistralai"]),
    local("mlx", &["mlx-lm"]),
    aggregator("moa", &["mixture-of-agents"]),
    direct("moonshot", &["kimi", "kimi-coding", "kimi-for-coding", "moonshot-ai", "moonshotai"]),
    aggregator("nano-gpt", &["nanogpt"]),
    aggregator("nebius", &[]),
    aggregator("nous", &["nous-portal"]),
    aggregator("novita", &["novita-ai"]),
    direct("nvidia", &["nim", "nvidia-nim"]),
    local("ollama", &[]),
    direct("ollama-cloud", &[]),
    direct("openai", &["chatgpt", "codex", "openai-api", "openai-codex"]),
    aggregator("opencode", &["opencode-go", "opencode-zen"]),
    aggregator("openrouter", &["open-router"]),
    direct("perplexity", &["pplx"]),
    aggregator("poe", &[]),
    aggregator("portkey", &[]),
    direct("reka", &[]),
    aggregator("replicate", &[]),
    aggregator("requesty", &[]),
    direct("sambanova", &[]),
    local("sglang", &[]),
    aggregator("siliconflow", &[]),
    direct("stepfun", &["step"]),
    aggregator("synthetic", &[]),
    direct("tencent", &["hunyuan"]),
    aggregator("togetherai", &["together", "together-ai"]),
    direct("upstage", &[]),
    aggregator("venice", &["venice-ai"]),
    aggregator("vercel-ai-gateway", &["ai-gateway", "vercel", "vercel-ai"]),
    local("vllm", &[]),
    direct("volcengine", &["ark", "bytedance", "doubao"]),
    direct("writer", &[]),
    direct("xai", &["grok", "x-ai", "x.ai", "xai-oauth"]),
    direct("xiaomi", &["mimo", "xiaomi-mimo"]),
    direct("zai", &["bigmodel", "glm", "z-ai", "z.ai", "zai-coding-plan", "zhipu", "zhipuai"]),
    aggregator("zenmux", &[]),
];

/// The family of a provider; a missing or unlisted provider is `unknown`.
pub fn family(provider: Option<&str>) -> ProviderFamily {
    let name = with_hyphens(normalise_optional(provider));
    if name.starts_with("custom-") || name.starts_with("custom:") {
        return ProviderFamily::Custom;
    }
    PROVIDERS
        .iter()
        .find(|known| known.name == name || known.aliases.contains(&name.as_ref()))
        .map_or(ProviderFamily::Unknown, |known| known.family)
}

/// Replaces `_` by `-`; copies the name only if that changes it.
fn with_hyphens(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { name }
}
