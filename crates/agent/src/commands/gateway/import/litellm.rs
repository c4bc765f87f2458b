//! The `config.yaml` of a LiteLLM proxy.
//!
//! A deployment of `model_list` becomes a model of a provider; a model group becomes an alias, with its
//! deployments chosen by weight and its fallbacks after them.

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;
use settings::Node;

use super::{items, number_of, quoted, text, text_of};

#[derive(Debug, Default, Serialize)]
pub(super) struct Imported {
    pub(super) config: String,
    pub(super) left: Vec<Note>,
    pub(super) taken: Vec<Note>,
}

/// A note on the conversion of an entry, with its line.
#[derive(Debug, Serialize)]
pub(super) struct Note {
    pub(super) line: usize,
    pub(super) text: String,
}

/// A provider of LiteLLM with a supported API: its prefix, its base URL, which is empty if the
/// file must name it, and its variable.
type Known = (&'static str, &'static str, &'static str);

/// The only one without the OpenAI API.
const ANTHROPIC: &str = "anthropic";

const KNOWN: &[Known] = &[
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("text-completion-openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    (ANTHROPIC, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("together_ai", "https://api.together.xyz/v1", "TOGETHERAI_API_KEY"),
    ("fireworks_ai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    ("perplexity", "https://api.perplexity.ai", "PERPLEXITYAI_API_KEY"),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    ("ollama", "http://127.0.0.1:11434/v1", ""),
    ("ollama_chat", "http://127.0.0.1:11434/v1", ""),
    ("hosted_vllm", "", ""),
    ("vllm", "", ""),
    ("lm_studio", "http://127.0.0.1:1234/v1", ""),
    ("openai_like", "", ""),
    ("custom_openai", "", ""),
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("embedding", "embeddings"),
    ("image_generation", "image"),
    ("audio_speech", "speech"),
    ("audio_transcription", "transcription"),
    ("moderation", "moderation"),
    ("rerank", "rerank"),
];

const PARAMETERS: &[&str] = &["model", "api_key", "api_base", "base_url", "weight", "rpm"];
const INFORMATION: &[&str] = &["mode", "max_input_tokens", "output_cost_per_image", "description"];

#[derive(Default)]
struct Provider {
    name: String,
    kind: &'static str,
    base: String,
    variable: String,
    /// The file contains the key itself.
    is_secret: bool,
    discover: bool,
    /// Model ids, with the keys of each in the new file.
    models: BTreeMap<String, Vec<String>>,
}

/// A model group: full ids with weights, and names of fallback groups.
#[derive(Default)]
struct Group {
    name: String,
    targets: Vec<(String, u32)>,
    fallbacks: Vec<String>,
}

#[derive(Default, Template)]
#[template(path = "litellm.yaml", escape = "none")]
struct Converter {
    out: Imported,
    providers: Vec<Provider>,
    groups: Vec<Group>,
    /// `admin_token` and `limits` of the new file.
    admin: Option<String>,
    new_keys: Vec<String>,
    /// The lines of its `models`.
    aliases: Vec<String>,
}

pub(super) fn convert(root: &Node) -> Imported {
    let mut converter = Converter::default();
    for item in items(root.get("model_list")) {
        converter.deployment(item);
    }
    for (key, node) in root.entries() {
        match key.text.as_str() {
            "model_list" => {}
            "litellm_settings" | "router_settings" => converter.settings(&key.text, node),
            "general_settings" => converter.general(node),
            other => converter.leave(key.position.line, format!("{other}: no equivalent")),
        }
    }
    converter.add_aliases();
    converter.out.config = converter.render().unwrap_or_default();
    converter.out.taken.sort_by_key(|note| note.line);
    converter.out.left.sort_by_key(|note| note.line);
    converter.out
}

impl Converter {
    fn take(&mut self, line: usize, text: String) {
        self.out.taken.push(Note { line, text });
    }

    fn leave(&mut self, line: usize, text: String) {
        self.out.left.push(Note { line, text });
    }

    fn deployment(&mut self, item: &Node) {
        let at = item.position.line;
        let parameters = item.get("litellm_params");
        let (Some(name), Some(parameters)) = (text_of(item, "model_name"), parameters) else {
            return self.leave(at, "entry without `model_name` and `litellm_params`".to_owned());
        };
        let Some(written) = text_of(parameters, "model") else {
            return self.leave(at, format!("{name}: no `litellm_params.model`"));
        };
        let (prefix, model) = match written.split_once('/') {
            Some((prefix, model)) if KNOWN.iter().any(|(known, ..)| *known == prefix) => {
                (prefix, model)
            }
            Some((prefix, _)) => {
                let text = format!("{name}: no provider kind for `{prefix}/`");
                return self.leave(at, text);
            }
            // LiteLLM assumes OpenAI.
            None => ("openai", written),
        };
        let Some(provider) = self.provider(name, prefix, parameters) else { return };
        let information = item.get("model_info");
        self.leave_rest(name, Some(parameters), PARAMETERS);
        self.leave_rest(name, information, INFORMATION);
        let Some(provider) = self.providers.get_mut(provider) else { return };
        if model.contains('*') {
            provider.discover = true;
            let text = format!("{name}: all models of the provider {}", provider.name);
            return self.take(at, text);
        }
        let keys = provider.models.entry(model.to_owned()).or_default();
        *keys = model_keys(information);
        let id = format!("{}/{model}", provider.name);
        self.take(at, format!("{name}: {id}"));
        let weight = number_of(parameters, "weight").or_else(|| number_of(parameters, "rpm"));
        let weight = weight.filter(|weight| (1.0..=1_000_000.0).contains(weight)).unwrap_or(1.0);
        // The range was checked.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1000000")]
        let weight = weight as u32;
        let group = self.group(name);
        if !group.targets.iter().any(|(known, _)| *known == id) {
            group.targets.push((id, weight));
        }
    }

    /// The index of the provider with this address and key, which is added if it is new.
    fn provider(&mut self, name: &str, prefix: &str, parameters: &Node) -> Option<usize> {
        let at = parameters.position.line;
        let (_, known_base, known_variable) = KNOWN.iter().find(|(known, ..)| *known == prefix)?;
        let given = text_of(parameters, "api_base").or_else(|| text_of(parameters, "base_url"));
        let base = match given.map(|base| base.trim_end_matches('/')) {
            Some(base) if base.starts_with("os.environ/") => reference(base),
            Some(base) if prefix.starts_with("ollama") && !base.ends_with("/v1") => {
                format!("{base}/v1")
            }
            Some(base) => base.to_owned(),
            None if known_base.is_empty() => {
                self.leave(at, format!("{name}: `{prefix}/` needs `api_base`"));
                return None;
            }
            None => (*known_base).to_owned(),
        };
        let wanted = prefix.replace('_', "-");
        let taken = |name: &String| self.providers.iter().any(|it| it.name == *name);
        let mut names = std::iter::once(wanted.clone())
            .chain((2..).map(|number: usize| format!("{wanted}-{number}")));
        let own_name = names.find(|name| !taken(name)).unwrap_or(wanted);
        let is_usual = base == *known_base;
        let key = text_of(parameters, "api_key");
        let is_secret = key.is_some_and(|key| !key.starts_with("os.environ/"));
        let variable = match key {
            Some(key) if !is_secret => key.trim_start_matches("os.environ/").to_owned(),
            _ if is_usual && !known_variable.is_empty() => (*known_variable).to_owned(),
            None => String::new(),
            Some(_) => {
                format!("{}_API_KEY", own_name.replace(['-', '.'], "_").to_ascii_uppercase())
            }
        };
        let same = |it: &Provider| {
            it.base == base && (it.variable == variable || (is_secret && it.is_secret))
        };
        if let Some(found) = self.providers.iter().position(same) {
            return Some(found);
        }
        if is_secret {
            self.leave(at, format!("{name}: `api_key` is not copied; set {variable}"));
        }
        self.providers.push(Provider {
            name: own_name,
            kind: if prefix == ANTHROPIC { ANTHROPIC } else { "openai" },
            base,
            variable,
            is_secret,
            ..Provider::default()
        });
        Some(self.providers.len() - 1)
    }

    fn group(&mut self, name: &str) -> &mut Group {
        let at = self.groups.iter().position(|group| group.name == name);
        let at = at.unwrap_or(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(Group { name: name.to_owned(), ..Group::default() });
        }
        &mut self.groups[at]
    }

    fn leave_rest(&mut self, name: &str, node: Option<&Node>, known: &[&str]) {
        for (key, _) in node.map(Node::entries).unwrap_or_default() {
            if !known.contains(&key.text.as_str()) {
                let why = if key.text.contains("cost_per") {
                    "prices are per request here: set `price_micros`"
                } else {
                    "no equivalent"
                };
                self.leave(key.position.line, format!("{name}: `{}`: {why}", key.text));
            }
        }
    }

    /// Fallbacks, aliases and defaults of keys.
    fn settings(&mut self, section: &str, node: &Node) {
        for (key, value) in node.entries() {
            let at = key.position.line;
            match key.text.as_str() {
                "fallbacks" => {
                    for (name, names) in items(Some(value)).iter().flat_map(Node::entries) {
                        let names = items(Some(names)).iter().filter_map(text);
                        let names: Vec<String> = names.map(str::to_owned).collect();
                        let text = format!("{}: falls back on {}", name.text, names.join(", "));
                        self.take(name.position.line, text);
                        self.group(&name.text).fallbacks.extend(names);
                    }
                }
                "model_group_alias" => {
                    for (name, target) in value.entries() {
                        let model = text(target).or_else(|| text_of(target, "model"));
                        let Some(model) = model else { continue };
                        self.take(name.position.line, format!("{}: alias for {model}", name.text));
                        self.group(&name.text).fallbacks.push(model.to_owned());
                    }
                }
                "default_key_generate_params" => self.key_defaults(value),
                other => self.leave(at, format!("{section}.{other}: no equivalent")),
            }
        }
    }

    fn key_defaults(&mut self, node: &Node) {
        let duration = text_of(node, "budget_duration");
        let period = duration.and_then(period);
        let has_budget = period.is_some() && node.get("max_budget").is_some();
        for (key, _) in node.entries() {
            let at = key.position.line;
            let number = number_of(node, &key.text).filter(|number| *number >= 0.0);
            let setting = match (key.text.as_str(), number) {
                ("max_budget", Some(budget)) => match (period, duration) {
                    (Some(period), _) => {
                        let micros = budget * 1_000_000.0;
                        format!("budget: {{amount_micros: {micros:.0}, period: {period}}}")
                    }
                    // A spend limit never resets, so the conversion would change its meaning.
                    (None, Some(duration)) => {
                        let text = "default_key_generate_params.max_budget: no period of";
                        self.leave(at, format!("{text} {duration}; use day, week or month"));
                        continue;
                    }
                    (None, None) => format!("spend_micros: {:.0}", budget * 1_000_000.0),
                },
                ("budget_duration", _) if has_budget => continue,
                ("rpm_limit", Some(limit)) if limit >= 1.0 => {
                    format!("requests_per_minute: {limit:.0}")
                }
                ("max_parallel_requests", Some(limit)) if limit >= 1.0 => {
                    format!("concurrency: {limit:.0}")
                }
                (other, _) => {
                    self.leave(at, format!("default_key_generate_params.{other}: no equivalent"));
                    continue;
                }
            };
            self.take(at, format!("default of new keys: {setting} (1 credit for 1 USD)"));
            self.new_keys.push(setting);
        }
    }

    fn general(&mut self, node: &Node) {
        for (key, value) in node.entries() {
            let at = key.position.line;
            if key.text != "master_key" {
                self.leave(at, format!("general_settings.{}: no equivalent", key.text));
                continue;
            }
            let named = text(value).filter(|text| text.starts_with("os.environ/"));
            let token = named.map_or_else(|| "${GATEWAY_ADMIN_TOKEN}".to_owned(), reference);
            self.take(at, format!("admin_token: {token}, at least 32 characters"));
            self.admin = Some(token);
        }
    }

    /// Adds the aliases of the new file. Groups refer to the deployments of others, never to their
    /// fallbacks, to avoid cycles.
    fn add_aliases(&mut self) {
        let groups = std::mem::take(&mut self.groups);
        for group in &groups {
            let name = &group.name;
            let is_full_id = matches!(group.targets.as_slice(), [(id, _)] if id == name);
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/:*?".contains(c));
            if is_full_id && group.fallbacks.is_empty() {
                continue;
            }
            if !is_name || is_full_id || name.is_empty() || name.len() > 128 {
                self.leave(0, format!("{name}: the name cannot be an alias"));
                continue;
            }
            let own = own_name(group);
            if group.targets.len() > 1 {
                let targets = group.targets.iter();
                let targets: Vec<String> = targets
                    .map(|(id, weight)| format!("{{model: {}, weight: {weight}}}", quoted(id)))
                    .collect();
                let targets = targets.join(", ");
                self.aliases.push(format!("{}: {{targets: [{targets}]}}", quoted(&own)));
            }
            let mut order: Vec<String> = base(group).into_iter().collect();
            for fallback in &group.fallbacks {
                match groups.iter().find(|known| known.name == *fallback).and_then(base) {
                    Some(found) if !order.contains(&found) => order.push(found),
                    Some(_) => {}
                    None => self.leave(0, format!("{name}: unknown fallback {fallback}")),
                }
            }
            if !order.is_empty() && (own != *name || group.targets.len() < 2) {
                let order: Vec<String> = order.iter().map(|id| quoted(id)).collect();
                self.aliases.push(format!("{}: [{}]", quoted(name), order.join(", ")));
            }
        }
    }
}

/// The period of a `budget_duration`.
fn period(duration: &str) -> Option<&'static str> {
    match duration {
        "1d" | "24h" | "daily" => Some("day"),
        "7d" | "1w" | "weekly" => Some("week"),
        "30d" | "1mo" | "monthly" => Some("month"),
        _ => None,
    }
}

fn own_name(group: &Group) -> String {
    if group.fallbacks.is_empty() {
        group.name.clone()
    } else {
        format!("{}.deployments", group.name)
    }
}

/// The deployments of a group: a full id, or an alias; `None` if it has none.
fn base(group: &Group) -> Option<String> {
    match group.targets.as_slice() {
        [] => None,
        [(id, _)] => Some(id.clone()),
        _ => Some(own_name(group)),
    }
}

fn reference(text: &str) -> String {
    format!("${{{}}}", text.trim_start_matches("os.environ/"))
}

fn model_keys(information: Option<&Node>) -> Vec<String> {
    let Some(information) = information else { return Vec::new() };
    let mut keys = Vec::new();
    let mode = text_of(information, "mode");
    if let Some((_, word)) = CAPABILITIES.iter().find(|(known, _)| Some(*known) == mode) {
        keys.push(format!("capabilities: [{word}]"));
    }
    if let Some(tokens) = number_of(information, "max_input_tokens").filter(|it| *it >= 1.0) {
        keys.push(format!("context_length: {tokens:.0}"));
    }
    if let Some(cost) = number_of(information, "output_cost_per_image").filter(|it| *it >= 0.0) {
        keys.push(format!("price_micros: {:.0}", cost * 1_000_000.0));
    }
    if let Some(description) = text_of(information, "description") {
        keys.push(format!("description: {}", quoted(description)));
    }
    keys
}
