//! The keys of a local process.

use std::time::Duration;

use settings::{Field, Problem, Seconds, Text, Value, Zero};

use super::super::{MAX_LAUNCH_ITEMS, StdioEndpoint};
use super::section::Section;
use super::server::Reader;

impl Reader<'_> {
    pub(super) fn stdio(
        &mut self,
        command: &Field<'_>,
        section: &mut Section<'_>,
    ) -> Option<StdioEndpoint> {
        let text = self.path(command, "the name or path of an executable");
        let (args, env) = (section.take("args"), section.take("env"));
        let args = args.map(|args| self.args(&args)).unwrap_or_default();
        let args = self.secrets.args(args);
        let env = env.map(|env| self.env(&env)).unwrap_or_default();
        let cwd = section.take("cwd").and_then(|cwd| self.path(&cwd, "the path of a directory"));
        let (idle_timeout, max_lifetime) = self.lifecycle(section);
        let command = self.without_nul(command, text?)?;
        Some(StdioEndpoint { command, args, env, cwd, idle_timeout, max_lifetime })
    }

    fn args(&mut self, field: &Field<'_>) -> Vec<Text> {
        let items = match &field.node.value {
            Value::List(items) => items,
            Value::String(line) => return self.args_of_line(field, line),
            _ => {
                let text = self.scalar(&field.key, field.place, field.node);
                if text.is_none() {
                    let kind = field.node.kind();
                    self.refuse(field, format!("must be a list of strings, found {kind}"));
                }
                return text.into_iter().collect();
            }
        };
        if items.len() > MAX_LAUNCH_ITEMS {
            self.refuse(field, format!("must be at most {MAX_LAUNCH_ITEMS} arguments"));
            return Vec::new();
        }
        let mut args = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let key = format!("{}[{index}]", field.key);
            let field = Field { key, place: item.place, node: item };
            match self.scalar(&field.key, item.place, item) {
                Some(text) => args.extend(self.without_nul(&field, text)),
                None => self.refuse(&field, format!("must be a string, found {}", item.kind())),
            }
        }
        args
    }

    /// Arguments in one string: a JSON list, or words as a shell would split them. Split before
    /// resolving, so that the value of a variable never becomes several arguments.
    fn args_of_line(&mut self, field: &Field<'_>, line: &str) -> Vec<Text> {
        let words = if line.trim_start().starts_with('[') {
            let Ok(words) = serde_json::from_str::<Vec<serde_json::Value>>(line) else {
                self.refuse(field, "a string that begins with `[` must be a JSON list of strings");
                return Vec::new();
            };
            let words: Option<Vec<_>> = words
                .into_iter()
                .map(|word| match word {
                    serde_json::Value::String(word) => Some(word),
                    serde_json::Value::Number(number) => Some(number.to_string()),
                    serde_json::Value::Bool(value) => Some(value.to_string()),
                    _ => None,
                })
                .collect();
            words.ok_or("the JSON list must hold only strings")
        } else {
            shell_words::split(line).map_err(|_| "a quote is not closed")
        };
        match words {
            Ok(words) if words.len() > MAX_LAUNCH_ITEMS => {
                self.refuse(field, format!("must be at most {MAX_LAUNCH_ITEMS} arguments"));
                Vec::new()
            }
            Ok(words) => words
                .iter()
                .filter_map(|word| {
                    let text = self.resolve(&field.key, field.place, word);
                    self.without_nul(field, text)
                })
                .collect(),
            Err(why) => {
                let problem = Problem::error(field.place, format!("cannot be split: {why}"))
                    .hint("write a list with one argument each");
                self.report(&field.key, problem);
                Vec::new()
            }
        }
    }

    fn env(&mut self, field: &Field<'_>) -> Vec<(String, Text)> {
        let Some(entries) = self.named_values(field, MAX_LAUNCH_ITEMS, "variables") else {
            return Vec::new();
        };
        let mut env = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            let name = &key.text;
            let field = Field { key: format!("env.{name}"), place: node.place, node };
            if name.is_empty() || name.contains(['=', '\0']) {
                self.refuse(&field, "a name of a variable must not be empty or hold `=`");
                continue;
            }
            if node.is_null() {
                let problem = Problem::warning(key.place, "has no value and is left out");
                self.report(&field.key, problem.hint("write \"\" for an empty value"));
                continue;
            }
            let Some(text) = self.scalar(&field.key, node.place, node) else {
                self.refuse(&field, format!("must be a string, found {}", node.kind()));
                continue;
            };
            let Some(text) = self.without_nul(&field, text) else { continue };
            env.push((name.clone(), self.secrets.named(name, text)));
        }
        env
    }

    /// A text that can be handed to a process.
    fn without_nul(&mut self, field: &Field<'_>, text: Text) -> Option<Text> {
        if text.value().contains('\0') {
            self.refuse(field, "must not hold a NUL character");
            return None;
        }
        Some(text)
    }

    /// Idle time and age, at the top or under `lifecycle`; the top wins.
    fn lifecycle(&mut self, section: &mut Section<'_>) -> (Option<Duration>, Option<Duration>) {
        let top = (section.take("idle_timeout_seconds"), section.take("max_lifetime_seconds"));
        let below = section.take("lifecycle");
        let below = match below.as_ref().map(|field| (&field.node.value, field)) {
            None => (None, None),
            Some((Value::Map(entries), _)) => {
                let mut inner = Section::open(self, "lifecycle", entries);
                let below =
                    (inner.take("idle_timeout_seconds"), inner.take("max_lifetime_seconds"));
                inner.close(self);
                below
            }
            Some((_, field)) => {
                let kind = field.node.kind();
                self.warn(field, format!("must be a mapping, found {kind}; it is ignored"));
                (None, None)
            }
        };
        (self.period(top.0, below.0), self.period(top.1, below.1))
    }

    /// A period that 0 switches off.
    fn period(&mut self, top: Option<Field<'_>>, below: Option<Field<'_>>) -> Option<Duration> {
        if let (Some(_), Some(below)) = (&top, &below) {
            self.warn(below, "is ignored because it also stands outside `lifecycle`");
        }
        let rule = Seconds { default: Duration::ZERO, zero: Zero::Allowed };
        Some(self.seconds(top.or(below), &rule)).filter(|period| !period.is_zero())
    }
}
