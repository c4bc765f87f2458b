//! The `gateway.yaml` that the first start makes. It is a person's from then on.

use std::path::Path;

use gateway::config::DEFAULT_LISTEN;

use super::local::Found;
use crate::config;
use crate::diagnostic::Diagnostic;

/// What the file shows to who wants to add a provider.
pub(super) const SNIPPET: &str = "  openai:
    kind: openai
    api_key: ${OPENAI_API_KEY}
    models: [gpt-5-mini]
";

/// Writes the file unless it is there; gives whether it was written.
pub(super) fn write_if_missing(path: &Path, found: &[Found]) -> Result<bool, Diagnostic> {
    let _lock = config::lock::take(path)?;
    if config::read(path)?.is_some() {
        return Ok(false);
    }
    config::write(path, &text(found))?;
    Ok(true)
}

fn text(found: &[Found]) -> String {
    let mut providers = String::new();
    for Found { server, .. } in found {
        let (name, url) = (&server.name, &server.base_url);
        providers.push_str(&format!(
            "  {name}:\n    kind: openai\n    base_url: {url}\n    discover: true\n"
        ));
    }
    let snippet: String =
        SNIPPET.lines().map(|line| format!("  #{}\n", line.replacen("  ", " ", 1))).collect();
    format!(
        "\
# The member service of this machine, made by `agent up`. Edit it as you like: it is not written again.
# `agent gateway example` shows more of what can be said, docs/gateway-config.md all of it.
# Secrets stand in variables: `${{NAME}}` is looked up in the profile's .env and in the environment.

listen: {DEFAULT_LISTEN}
database: sqlite:gateway.sqlite3

# Where models are.
providers:
{providers}{snippet}
# Whole micro-credits for one request; 1 credit is 1000000.
prices:
  default_micros:
    chat: 1000
    responses: 1000

log:
  format: text
  level: info
"
    )
}

#[cfg(test)]
mod tests {
    use gateway::config::read;
    use settings::Scope;

    use super::super::local::named;
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let server = named("ollama=http://127.0.0.1:11434/v1").unwrap();
        let found = Found { server, models: Vec::new() };
        for (found, count) in [(vec![], 0), (vec![found], 1)] {
            let text = text(&found);
            let reading = read(&text, &Scope::default(), Path::new("/x"));
            assert_eq!(reading.problems, [], "{text}");
            assert_eq!(reading.config.unwrap().providers.len(), count);
        }
    }

    #[test]
    fn the_provider_that_is_shown_can_be_used_when_its_mark_is_taken_away() {
        let text = text(&[]).replace("  # ", "  ");
        let mut scope = Scope::default();
        scope.process.insert("OPENAI_API_KEY".to_owned(), "sk-x".to_owned());
        let reading = read(&text, &scope, Path::new("/x"));
        assert_eq!(reading.problems, [], "{text}");
        assert_eq!(reading.config.unwrap().providers[0].name, "openai");
    }
}
