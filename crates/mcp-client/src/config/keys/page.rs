//! The page of the documentation, made from the table.

use super::super::{MAX_CONFIG_BYTES, MAX_FILTERS, MAX_HEADERS, MAX_LAUNCH_ITEMS, MAX_SERVERS};
use super::{FOR_ALL, Known, SECTIONS, Section};

const INTRODUCTION: &str = "\
# MCP servers in the configuration

<!-- Made from the table of keys in `crates/mcp-client/src/config/keys.rs`. Do not edit. -->

`mcp_servers` is a mapping from the name of a server to its entry. The file is YAML; JSON is a part
of it. Beside it only the root key `mcp` is read here. A name should be 1 to 64 letters, digits, dots,
underscores and hyphens.

```yaml
mcp_servers:
  files:
    command: npx
    args: [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"${workspaceFolder}\"]
    idle_timeout_seconds: 900
  issues:
    url: https://mcp.example.com/mcp
    headers:
      Authorization: Bearer ${ISSUES_TOKEN}
    tools:
      include: [\"list_*\", \"read_issue\"]
      prompts: off
    trust: untrusted
  calendar:
    url: https://calendar.example.com/mcp
    auth: oauth
    oauth:
      scope: events.read events.write
  internal:
    url: https://mcp.internal.example.com/mcp
    ssl_verify: ~/certs/internal-ca.pem
    client_cert: [~/certs/me.pem, ~/certs/me.key, \"${KEY_PASSWORD}\"]
    enabled: false
```

Nothing that is wrong stops the rest: all problems are collected, each with its line, server and key,
what was found and what is allowed. An **error** leaves that one server out; a **warning** says which
value is used instead. A key that is not in these tables is a warning, and so is one that belongs to
the other kind of server. A key without a value (null) counts as left out.
";

const VALUES: &str = "\
## Values

| kind | what may be written |
|---|---|
| bool | `true`, `1`, `yes`, `on` and `false`, `0`, `no`, `off`, in any case, quoted or not; anything else warns and takes the default |
| number | seconds, also with a fraction, also as a string; at most a year, and 0 only where it switches something off; anything else warns and takes the default |
| integer | a whole number, also as a string |
| string | numbers and booleans are taken as they are written: `1.10` stays `1.10` |
| path | `command`, `cwd`, `ssl_verify`, `client_cert` and `client_key`: a leading `~` or `~/` is the home directory |

White space at the beginning or the end of a string warns, because it is rarely meant. A key that
stands twice in one mapping is an error that names both lines.

## Variables

Every string value may refer to variables; keys may not.

| form | becomes |
|---|---|
| `${NAME}`, `${env:NAME}` | the variable, from the profile's `.env` or else from the environment of the process |
| `${userHome}` | the home directory |
| `${workspaceFolder}` | the root of the session's workspace |
| `${workspaceFolderBasename}` | the last part of it |
| `${pathSeparator}`, `${/}` | the separator of paths |

Names are trimmed; those of the context are case-sensitive; any other name is that of a variable. What
a reference becomes is not looked at again. A variable that is not set keeps its placeholder, with a
warning; one that is set but empty becomes nothing, with a warning. There are no default values and no
`$NAME`. What is shown and logged is always the placeholder, never the value.

The `.env` file holds `NAME=value` lines, with or without `export`. Single quotes keep a value as it
is; double quotes know `\\n`, `\\r`, `\\t`, `\\\"`, `\\\\` and `\\$`; both may span lines. Without quotes a `#`
after white space begins a comment.

## What is refused

A `command` entry that runs a shell with network access, or on files that start programs at login or
grant access, is not saved and not started; the reason is told.
";

/// `docs/mcp-config.md`, made from the table.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in SECTIONS.iter().chain([&FOR_ALL]) {
        page.push('\n');
        page.push_str(&chapter(section));
    }
    page.push('\n');
    page.push_str(VALUES);
    page.push('\n');
    page.push_str(&limits());
    page
}

fn chapter(section: &Section) -> String {
    let is_entry = section.name.is_empty();
    let title = if is_entry { "A server".to_owned() } else { format!("`{}`", section.name) };
    let mut chapter = format!("## {title}\n\n{}\n\n", section.about);
    chapter.push_str(if is_entry {
        "| key | type | for | default | meaning |\n|---|---|---|---|---|\n"
    } else {
        "| key | type | default | meaning |\n|---|---|---|---|\n"
    });
    for key in section.keys {
        chapter.push_str(&row(key, is_entry));
    }
    chapter
}

fn row(key: &Known, with_kind_of_server: bool) -> String {
    let Known { name, kind, applies, default, meaning } = key;
    let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
    let applies =
        if with_kind_of_server { format!("{} | ", applies.word()) } else { String::new() };
    format!("| `{name}` | {kind} | {applies}{default} | {meaning} |\n")
}

fn limits() -> String {
    let rows = [
        ("size of the file", format!("{MAX_CONFIG_BYTES} bytes")),
        ("servers", MAX_SERVERS.to_string()),
        ("arguments, variables of one server", format!("{MAX_LAUNCH_ITEMS} each")),
        ("headers of one server", MAX_HEADERS.to_string()),
        ("names in one filter", MAX_FILTERS.to_string()),
    ];
    let rows: Vec<_> = rows.iter().map(|(what, most)| format!("| {what} | {most} |\n")).collect();
    format!("## Limits\n\n| what | at most |\n|---|---|\n{}", rows.concat())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::read::tests::scope;
    use super::super::super::{parse, parse_entry};
    use super::super::Applies;
    use super::*;

    #[test]
    fn the_committed_page_is_made_from_the_table() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp-config.md");
        let text = std::fs::read_to_string(&committed).unwrap_or_default();
        if text != page() {
            let made = std::env::temp_dir().join("mcp-config.md");
            std::fs::write(&made, page()).unwrap();
            panic!("out of date: run `cp {} docs/mcp-config.md`", made.display());
        }
    }

    #[test]
    fn the_example_has_nothing_wrong() {
        let page = page();
        let example = page.split("```").nth(1).unwrap().strip_prefix("yaml\n").unwrap();
        let mut scope = scope();
        for name in ["ISSUES_TOKEN", "KEY_PASSWORD"] {
            scope.secrets.insert(name.into(), "value".into());
        }
        let parsed = parse(example, &scope);
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.servers.len(), 4);
    }

    #[test]
    fn every_default_of_the_table_is_the_default() {
        for section in SECTIONS {
            for key in section.keys.iter().filter(|key| !key.default.is_empty()) {
                let base = match key.applies {
                    Applies::Http => r#""url": "http://h", "auth": "oauth""#,
                    Applies::Stdio | Applies::Both => r#""command": "x""#,
                };
                let value = serde_json::from_str(key.default)
                    .unwrap_or_else(|_| serde_json::Value::from(key.default));
                let mut with: serde_json::Value =
                    serde_json::from_str(&format!("{{{base}}}")).unwrap();
                let without = with.clone();
                match section.name {
                    "" => with[key.name] = value,
                    name => with[name] = serde_json::json!({ key.name: value }),
                }
                let read = |entry| {
                    let (configured, problems) = parse_entry("s", entry, &scope()).unwrap();
                    assert_eq!(problems, [], "{}", key.name);
                    configured.entry
                };
                let (with, without) = (read(&with), read(&without));
                // What is only decided at sign-in is told apart from what was not said.
                let is_late =
                    section.name == "oauth" && !["redirect_port", "flow"].contains(&key.name);
                assert_eq!(with == without, !is_late, "{}.{}", section.name, key.name);
            }
        }
    }
}
