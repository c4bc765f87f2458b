//! What of a server is registered, and what it may ask of a model or a person.

use settings::{Field, Key, Node, Seconds, Value, Zero};

use super::super::{ElicitationPolicy, MAX_FILTERS, SamplingPolicy, ToolPolicy};
use super::section::Section;
use super::server::Reader;

impl Reader<'_> {
    /// The `tools` mapping; a bare string or list is its `include`.
    pub(super) fn tools(&mut self, field: Option<Field<'_>>) -> ToolPolicy {
        let Some(field) = field else { return ToolPolicy::default() };
        match &field.node.value {
            Value::Map(entries) => self.tool_policy(entries),
            Value::String(names) => {
                let names = self.resolve(&field.key, field.place, names);
                let include = names
                    .value()
                    .split(|c: char| c == ',' || c.is_whitespace())
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect();
                ToolPolicy { include: Some(include), ..ToolPolicy::default() }
            }
            Value::List(_) => ToolPolicy { include: self.filter(&field), ..ToolPolicy::default() },
            _ => {
                let kind = field.node.kind();
                self.refuse(&field, format!("must be a mapping, a string or a list, found {kind}"));
                ToolPolicy::default()
            }
        }
    }

    fn tool_policy(&mut self, entries: &[(Key, Node)]) -> ToolPolicy {
        let mut section = Section::open(self, "tools", entries);
        let (include, exclude) = (section.take("include"), section.take("exclude"));
        if let (Some(_), Some(exclude)) = (&include, &exclude) {
            self.warn(exclude, "has no effect beside `tools.include`, which wins");
        }
        let policy = ToolPolicy {
            include: include.and_then(|include| self.filter(&include)),
            exclude: exclude.and_then(|exclude| self.filter(&exclude)).unwrap_or_default(),
            resources: self.flag(section.take("resources"), true),
            prompts: self.flag(section.take("prompts"), true),
        };
        section.close(self);
        policy
    }

    /// Names and globs. What is not understood refuses the server: a filter must not fail open.
    fn filter(&mut self, field: &Field<'_>) -> Option<Vec<String>> {
        if let Value::String(name) = &field.node.value
            && name.contains(',')
        {
            self.warn(field, "a string is one name or glob; write a list for several");
        }
        let names = self.strings(field)?;
        if names.len() > MAX_FILTERS {
            self.refuse(field, format!("must be at most {MAX_FILTERS} names"));
            return None;
        }
        Some(names)
    }

    pub(super) fn sampling(&mut self, field: Option<Field<'_>>) -> SamplingPolicy {
        let policy = SamplingPolicy::default();
        let Some(field) = field else { return policy };
        let Value::Map(entries) = &field.node.value else {
            let enabled = self.switch(&field, policy.enabled);
            return SamplingPolicy { enabled, ..policy };
        };
        let mut section = Section::open(self, "sampling", entries);
        let timeout = Seconds { default: policy.timeout, zero: Zero::Refused };
        let policy = SamplingPolicy {
            enabled: self.flag(section.take("enabled"), policy.enabled),
            model: self.optional(section.take("model")).map(|model| model.value().to_owned()),
            max_tokens_cap: self.whole(
                section.take("max_tokens_cap"),
                1..=u32::MAX,
                policy.max_tokens_cap,
            ),
            timeout: self.seconds(section.take("timeout"), &timeout),
            max_rpm: self.whole(section.take("max_rpm"), 1..=u32::MAX, policy.max_rpm),
            max_tool_rounds: self.whole(
                section.take("max_tool_rounds"),
                0..=u32::MAX,
                policy.max_tool_rounds,
            ),
            allowed_models: section
                .take("allowed_models")
                .and_then(|models| self.strings(&models))
                .unwrap_or_default(),
        };
        section.close(self);
        policy
    }

    pub(super) fn elicitation(&mut self, field: Option<Field<'_>>) -> ElicitationPolicy {
        let policy = ElicitationPolicy::default();
        let Some(field) = field else { return policy };
        let Value::Map(entries) = &field.node.value else {
            let enabled = self.switch(&field, policy.enabled);
            return ElicitationPolicy { enabled, ..policy };
        };
        let mut section = Section::open(self, "elicitation", entries);
        let timeout = Seconds { default: policy.timeout, zero: Zero::Refused };
        let policy = ElicitationPolicy {
            enabled: self.flag(section.take("enabled"), policy.enabled),
            timeout: self.seconds(section.take("timeout"), &timeout),
        };
        section.close(self);
        policy
    }

    /// A mapping given as a bare switch, which is its `enabled`. Anything else refuses the
    /// server: what was meant to be off must not stay on.
    fn switch(&mut self, field: &Field<'_>, default: bool) -> bool {
        if let Some(value) = self.bool_like(field) {
            return value;
        }
        self.refuse(field, format!("must be a mapping or a switch, found {}", field.node.kind()));
        default
    }
}
