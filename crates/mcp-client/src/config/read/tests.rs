//! Every key and rule of an entry, table by table.

mod laws;
mod page;
mod remote;
mod whole_file;

use std::sync::LazyLock;
use std::time::Duration;

use agent_test_support::json_schema::JsonSchema;
use settings::{DocumentedKey, DocumentedSection};

use super::super::{
    Endpoint, MAX_FILTERS, MAX_HEADERS, MAX_LAUNCH_ITEMS, MAX_SECONDS, Protocol, SamplingPolicy,
    StdioEndpoint, Text, Trust,
};
use super::*;

/// The kind of server that a key is for; those of a section are for the kind of its key.
fn kind_of(section: &DocumentedSection, key: &DocumentedKey) -> Option<&'static str> {
    let name = if section.name.is_empty() { &key.name } else { &section.name };
    schema().kinds_of(name).first().map(|kind| if *kind == STDIO { STDIO } else { HTTP })
}

/// What references of these tests resolve to.
fn scope() -> Scope {
    let map = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    };
    Scope {
        secrets: map(&[("TOKEN", "from-profile"), ("BLANK", ""), ("A.B-C", "dotted")]),
        process: map(&[
            ("TOKEN", "from-process"),
            ("BLANK", "hidden by the profile"),
            ("ONLY_PROCESS", "process-value"),
            ("NESTED", "${TOKEN}"),
            ("HOST", "mcp.example.com"),
            ("userHome", "not a context name here"),
            ("USERHOME", "upper"),
            ("SECONDS", "45"),
            ("SWITCH", "False"),
        ]),
        home: Some("/home/ada".into()),
        workspace: "/work/project".into(),
    }
}

static SCHEMA: LazyLock<JsonSchema> =
    LazyLock::new(|| JsonSchema::of(&schema().clone().named().published("mcp_servers")));

/// The paths of all errors that the published schema has for the servers of a file.
fn faults(text: &str) -> Vec<String> {
    let root = Node::from_yaml(text).expect("YAML");
    let servers = root.get(ROOT).map(Node::to_json).unwrap_or_default();
    SCHEMA.faults(&servers)
}

#[test]
fn reader_and_schema_reject_the_same_mistakes() {
    for (text, path) in [
        (local("args: {a: b}"), "/s/args"),
        (local("env: [A]"), "/s/env"),
        (remote("tools: 5"), "/s/tools"),
        (remote("oauth: {redirect_port: [1]}\nauth: oauth"), "/s/oauth/redirect_port"),
        ("mcp_servers: {s: run}".to_owned(), "/s"),
    ] {
        assert_eq!(faults(&text), [path], "{text}");
        assert_ne!(parse(&text, &scope()).problems, [], "{text}");
    }
}

/// The lines of one entry called `s`, under a command.
fn local(lines: &str) -> String {
    entry(&format!("command: run\n{lines}"))
}

/// The lines of one entry called `s`, under an address.
fn remote(lines: &str) -> String {
    entry(&format!("url: https://a.b/mcp\n{lines}"))
}

fn entry(lines: &str) -> String {
    let indented: Vec<_> = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("mcp_servers:\n  s:\n{}", indented.concat())
}

/// The entry of a text that has nothing wrong with it.
#[track_caller]
fn clean(text: &str) -> ServerEntry {
    let parsed = parse(text, &scope());
    assert_eq!(parsed.problems, [], "{text}");
    assert_eq!(faults(text), Vec::<String>::new(), "{text}");
    parsed.servers.into_iter().next().expect("an entry").entry
}

/// The entry of a text with exactly one warning, and the warning.
#[track_caller]
fn warned(text: &str) -> (ServerEntry, Problem) {
    let mut parsed = parse(text, &scope());
    assert_eq!(parsed.problems.len(), 1, "{text}\n{:#?}", parsed.problems);
    assert!(!parsed.problems[0].is_error(), "{text}\n{}", parsed.problems[0]);
    (parsed.servers.remove(0).entry, parsed.problems.remove(0))
}

/// The one error of a text that gives no entry.
#[track_caller]
fn refused(text: &str) -> Problem {
    let mut parsed = parse(text, &scope());
    assert_eq!(parsed.servers, [], "{text}");
    assert_eq!(parsed.problems.len(), 1, "{text}\n{:#?}", parsed.problems);
    assert!(parsed.problems[0].is_error(), "{text}\n{}", parsed.problems[0]);
    parsed.problems.remove(0)
}

fn stdio(entry: &ServerEntry) -> &StdioEndpoint {
    match &entry.endpoint {
        Endpoint::Stdio(endpoint) => endpoint,
        Endpoint::Http(_) => panic!("a remote server"),
    }
}

#[test]
fn a_minimal_local_entry_has_every_default() {
    let expected = ServerEntry::new("s", Endpoint::Stdio(StdioEndpoint::new("run")));
    assert_eq!(clean(&local("")), expected);
}

#[test]
fn every_key_of_the_table_is_known_to_the_reader() {
    for section in &schema().sections() {
        for key in &section.keys {
            let line = match section.name.as_str() {
                "" => format!("{}: {{a: {{b: [c]}}}}", key.name),
                name => format!("{name}: {{{}: {{a: {{b: [c]}}}}}}", key.name),
            };
            let text = match kind_of(section, key) {
                _ if ["url", "command"].contains(&key.name.as_str()) => entry(&line),
                Some(HTTP) => remote(&format!("auth: oauth\n{line}")),
                _ => local(&line),
            };
            let text = if key.name == "auth" { remote(&line) } else { text };
            let parsed = parse(&text, &scope());
            // A value that no key takes is always complained about, but never as unknown.
            assert!(!parsed.problems.is_empty(), "{text}");
            let unknown = |problem: &Problem| {
                problem.message.contains("not a known key")
                    && problem.key.as_deref().is_some_and(|found| found.ends_with(&key.name))
            };
            assert!(!parsed.problems.iter().any(unknown), "{text}\n{:#?}", parsed.problems);
        }
    }
}

#[test]
fn switches_accept_booleans_and_boolean_words() {
    for (value, expected) in [
        ("true", true),
        ("yes", true),
        ("On", true),
        ("1", true),
        ("\"TRUE\"", true),
        ("' on '", true),
        ("false", false),
        ("no", false),
        ("OFF", false),
        ("0", false),
        ("\"0\"", false),
        ("'No'", false),
    ] {
        let parsed = parse(&local(&format!("lazy: {value}")), &scope());
        assert_eq!(parsed.servers[0].entry.lazy, expected, "{value}");
    }
    for (value, found) in
        [("maybe", "`maybe`"), ("2", "`2`"), ("[true]", "a list"), ("{}", "a mapping")]
    {
        let (entry, problem) = warned(&local(&format!("enabled: {value}")));
        assert!(entry.enabled);
        assert_eq!(
            problem.message,
            format!("must be true, 1, yes, on, false, 0, no or off, found {found}; using true")
        );
        assert_eq!((problem.line, problem.key.as_deref()), (4, Some("enabled")));
    }
}

#[test]
fn every_switch_has_a_default_and_can_be_changed() {
    let read = |line: &str| clean(&local(line));
    assert!(read("enabled: null").enabled && !read("enabled: false").enabled);
    assert!(read("required: true").required && !read("required: ~").required);
    assert!(read("lazy: true").lazy && !read("").lazy);
    assert!(read("supports_parallel_tool_calls: yes").parallel_calls && !read("").parallel_calls);
    assert!(!read("tools: {resources: off}").tools.resources && read("tools: {}").tools.resources);
    assert!(!read("tools: {prompts: 0}").tools.prompts && read("tools: {}").tools.prompts);
}

#[test]
fn times_are_seconds_as_numbers_strings_or_variables() {
    for (value, expected) in [
        ("2.5", 2500),
        ("\"45\"", 45_000),
        ("' 7 '", 7000),
        ("\"${SECONDS}\"", 45_000),
        ("1e2", 100_000),
        ("0.001", 1),
    ] {
        let parsed = parse(&local(&format!("timeout: {value}")), &scope());
        assert_eq!(parsed.servers[0].entry.timeout, Duration::from_millis(expected), "{value}");
    }
    for value in
        ["-1", ".inf", ".nan", "-.inf", "1e999", "soon", "\"\"", "[]", "true", "0", "\"NaN\""]
    {
        let (entry, problem) = warned(&local(&format!("timeout: {value}")));
        assert_eq!(entry.timeout, Duration::from_mins(5), "{value}");
        assert!(problem.message.ends_with("using 300"), "{problem}");
    }
    let (entry, _) = warned(&local("timeout: 1e12"));
    assert_eq!(entry.timeout, Duration::from_secs_f64(MAX_SECONDS));
    let (entry, problem) = warned(&local("connect_timeout: no idea"));
    assert_eq!(entry.connect_timeout, Duration::from_mins(1));
    assert_eq!(problem.message, "must be a number, found `no idea`; using 60");
    assert_eq!(clean(&local("connect_timeout: 5")).connect_timeout, Duration::from_secs(5));
}

#[test]
fn a_short_keepalive_is_raised_with_a_warning() {
    for value in ["4.9", "0", "\"1\""] {
        let (entry, problem) = warned(&local(&format!("keepalive_interval: {value}")));
        assert_eq!(entry.keepalive, Duration::from_secs(5));
        assert_eq!(problem.message, "is less than 5 seconds; using 5");
    }
    assert_eq!(clean(&local("keepalive_interval: 5")).keepalive, Duration::from_secs(5));
    assert_eq!(warned(&local("keepalive_interval: -3")).0.keepalive, Duration::from_mins(3));
}

#[test]
fn recycling_keys_are_read_at_top_level_and_under_lifecycle() {
    let read = |entry: ServerEntry| (stdio(&entry).idle_timeout, stdio(&entry).max_lifetime);
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let lines = "idle_timeout_seconds: 60\nmax_lifetime_seconds: 3600";
    assert_eq!(read(clean(&local(lines))), (seconds(60), seconds(3600)));
    let lines = "lifecycle: {idle_timeout_seconds: 60, max_lifetime_seconds: 0}";
    assert_eq!(read(clean(&local(lines))), (seconds(60), None));
    let lines = "idle_timeout_seconds: 0\nlifecycle: {idle_timeout_seconds: 60}";
    let (entry, problem) = warned(&local(lines));
    assert_eq!(read(entry), (None, None));
    assert_eq!(problem.key.as_deref(), Some("lifecycle.idle_timeout_seconds"));
    assert_eq!(read(warned(&local("max_lifetime_seconds: -1")).0), (None, None));
    assert_eq!(read(warned(&local("lifecycle: 5")).0), (None, None));
}

#[test]
fn protocols_have_aliases_and_default_to_auto() {
    for (word, expected) in [
        ("auto", Protocol::Auto),
        ("stateless", Protocol::Stateless),
        ("legacy", Protocol::Legacy),
        ("Modern", Protocol::Stateless),
        ("2026-07-28", Protocol::Stateless),
        ("HANDSHAKE", Protocol::Legacy),
    ] {
        assert_eq!(clean(&local(&format!("protocol: {word}"))).protocol, expected);
    }
    let (entry, problem) = warned(&local("protocol: http2"));
    assert_eq!(entry.protocol, Protocol::Auto);
    assert_eq!(
        problem.message,
        "must be one of `auto`, `stateless`, `legacy`, `modern`, `2026-07-28`, `handshake`, found \
         `http2`; using `auto`"
    );
}

#[test]
fn unknown_trust_values_mean_untrusted() {
    assert_eq!(clean(&local("trust: full")).trust, Trust::Full);
    assert_eq!(clean(&local("trust: null")).trust, Trust::Full);
    assert_eq!(clean(&local("trust: untrusted")).trust, Trust::Untrusted);
    for value in ["FULL", "Full", "fully", "true", "[full]", "\"\""] {
        assert_eq!(warned(&local(&format!("trust: {value}"))).0.trust, Trust::Untrusted);
    }
}

#[test]
fn arguments_are_a_list_or_a_command_line() {
    for (value, expected) in [
        ("[]", &[][..]),
        ("null", &[]),
        ("[-p, 8080, 1.10, yes, \"\"]", &["-p", "8080", "1.10", "yes", ""]),
        ("-y 'my pkg' \"a b\"", &["-y", "my pkg", "a b"]),
        ("'[\"-y\", \"pkg\", 3]'", &["-y", "pkg", "3"]),
        ("8080", &["8080"]),
        ("[\"~/x\", \"${userHome}/y\"]", &["~/x", "/home/ada/y"]),
        ("\"--at ${workspaceFolder}\"", &["--at", "/work/project"]),
    ] {
        let entry = clean(&local(&format!("args: {value}")));
        let args: Vec<_> = stdio(&entry).args.iter().map(Text::value).collect();
        assert_eq!(args, expected, "{value}");
    }
    for (value, key, message) in [
        ("'[\"-y\", '", "args", "a string that starts with `[` must be a JSON list of strings"),
        (
            "'[[1]]'",
            "args",
            "cannot be split into arguments: the JSON list must contain only strings",
        ),
        ("\"a 'b\"", "args", "cannot be split into arguments: unclosed quote"),
        ("{a: b}", "args", "must be a list of strings, found a mapping"),
        ("[a, [b]]", "args[1]", "must be a string, found a list"),
        ("[a, null]", "args[1]", "must be a string, found nothing"),
        ("[\"a\\0b\"]", "args[0]", "must not contain a NUL character"),
    ] {
        let problem = refused(&local(&format!("args: {value}")));
        assert_eq!((problem.key.as_deref(), problem.message.as_str()), (Some(key), message));
    }
}

#[test]
fn a_variable_is_never_split_into_arguments() {
    let mut scope = scope();
    scope.process.insert("TWO".into(), "a b".into());
    let parsed = parse(&local("args: --x ${TWO}"), &scope);
    let args: Vec<_> = stdio(&parsed.servers[0].entry).args.iter().map(Text::value).collect();
    assert_eq!(args, ["--x", "a b"]);
}

#[test]
fn environment_variables_keep_order_and_spelling() {
    let entry = clean(&local("env: {B: 1.10, A: yes, C: \"${env:ONLY_PROCESS}\", D: \"\"}"));
    let env: Vec<_> =
        stdio(&entry).env.iter().map(|(name, text)| (name.as_str(), text.value())).collect();
    assert_eq!(env, [("B", "1.10"), ("A", "yes"), ("C", "process-value"), ("D", "")]);
    let (entry, problem) = warned(&local("env: {A: , B: x}"));
    assert_eq!(stdio(&entry).env.len(), 1);
    assert_eq!(problem.key.as_deref(), Some("env.A"));
    for (value, key) in [
        ("[A=1]", "env"),
        ("{A: [x]}", "env.A"),
        ("{\"A=B\": x}", "env.A=B"),
        ("{\"\": x}", "env."),
        ("{A: \"x\\0\"}", "env.A"),
    ] {
        assert_eq!(refused(&local(&format!("env: {value}"))).key.as_deref(), Some(key));
    }
}

#[test]
fn commands_and_working_directories_are_expanded_paths() {
    let entry = clean(&entry("command: ~/bin/run\ncwd: ${workspaceFolder}/sub"));
    assert_eq!(stdio(&entry).command.value(), "/home/ada/bin/run");
    assert_eq!(stdio(&entry).command.shown(), "~/bin/run");
    assert_eq!(stdio(&entry).cwd.as_ref().map(Text::value), Some("/work/project/sub"));
    for value in ["5", "[run]", "\" \"", "true"] {
        let problem = refused(&super::tests::entry(&format!("command: {value}")));
        assert!(problem.message.starts_with("must be the name or path"), "{problem}");
    }
    assert_eq!(refused(&local("cwd: [a]")).key.as_deref(), Some("cwd"));
    let homeless = Scope { home: None, ..scope() };
    let parsed = parse(&super::tests::entry("command: ~/run"), &homeless);
    assert!(parsed.problems[0].message.contains("home directory is unknown"));
}

#[test]
fn tools_are_a_mapping_or_a_short_form() {
    let include = |text: &str| clean(&local(text)).tools.include;
    let names =
        |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    assert_eq!(include("tools: {}"), None);
    assert_eq!(include("tools: null"), None);
    assert_eq!(include("tools: {include: null}"), None);
    assert_eq!(include("tools: {include: []}"), names(&[]));
    assert_eq!(include("tools: []"), names(&[]));
    assert_eq!(include("tools: [a, 'b*']"), names(&["a", "b*"]));
    assert_eq!(include("tools: a, b  c"), names(&["a", "b", "c"]));
    assert_eq!(include("tools: |\n  a\n  b"), names(&["a", "b"]));
    assert_eq!(include("tools: {include: 'read_*'}"), names(&["read_*"]));
    assert_eq!(include("tools: {include: [list-items.v2, 7]}"), names(&["list-items.v2", "7"]));
    assert_eq!(clean(&local("tools: {exclude: [a, b]}")).tools.exclude, ["a", "b"]);
    let (entry, problem) = warned(&local("tools: {include: a, exclude: b}"));
    assert_eq!(entry.tools.include, names(&["a"]));
    assert_eq!(problem.key.as_deref(), Some("tools.exclude"));
    assert_eq!(warned(&local("tools: {include: 'a,b'}")).0.tools.include, names(&["a,b"]));
}

#[test]
fn an_invalid_tool_filter_rejects_the_server() {
    for (value, key) in [
        ("5", "tools"),
        ("{include: {a: true}}", "tools.include"),
        ("{exclude: {}}", "tools.exclude"),
        ("{include: [a, b, [c]]}", "tools.include[2]"),
        ("{include: [null]}", "tools.include[0]"),
    ] {
        assert_eq!(
            refused(&local(&format!("tools: {value}"))).key.as_deref(),
            Some(key),
            "{value}"
        );
    }
}

#[test]
fn sampling_is_a_mapping_or_a_switch() {
    let lines = "sampling: {enabled: no, model: m, max_tokens_cap: 1, timeout: 2, max_rpm: '3', \
                 max_tool_rounds: 0, allowed_models: [m, n]}";
    let expected = SamplingPolicy {
        enabled: false,
        model: Some("m".into()),
        max_tokens_cap: 1,
        timeout: Duration::from_secs(2),
        max_rpm: 3,
        max_tool_rounds: 0,
        allowed_models: vec!["m".into(), "n".into()],
    };
    assert!(clean(&local(lines)).sampling == expected);
    assert!(clean(&local("sampling: {}")).sampling == SamplingPolicy::default());
    assert!(!clean(&local("sampling: off")).sampling.enabled);
    assert_eq!(refused(&local("sampling: [x]")).key.as_deref(), Some("sampling"));
    for key in
        ["max_tokens_cap: 0", "max_rpm: 0", "max_rpm: 1.5", "max_tool_rounds: -1", "max_rpm: 1e12"]
    {
        let (entry, _) = warned(&local(&format!("sampling: {{{key}}}")));
        assert!(entry.sampling == SamplingPolicy::default(), "{key}");
    }
}

#[test]
fn elicitation_is_a_mapping_or_a_switch() {
    let entry = clean(&local("elicitation: {enabled: false, timeout: 20}"));
    assert!(!entry.elicitation.enabled);
    assert_eq!(entry.elicitation.timeout, Duration::from_secs(20));
    assert!(!clean(&local("elicitation: false")).elicitation.enabled);
    assert_eq!(refused(&local("elicitation: perhaps")).key.as_deref(), Some("elicitation"));
}

#[test]
fn servers_with_colliding_tool_names_get_a_warning() {
    let both = "mcp_servers:\n  a.b: {command: x}\n  c: {command: x}\n  a-b: {command: x}\n";
    let parsed = parse(both, &scope());
    assert_eq!((parsed.servers.len(), parsed.problems.len()), (3, 1));
    let problem = &parsed.problems[0];
    assert_eq!((problem.line, problem.section.as_deref()), (4, Some("a-b")));
    assert!(problem.message.contains("`mcp__a_b__…`, like those of `a.b`"), "{problem}");
    assert!(!problem.is_error());
    let off = both.replace("a.b: {", "a.b: {enabled: false, ");
    assert_eq!(parse(&off, &scope()).problems, []);
}

#[test]
fn misspelled_root_keys_get_a_suggestion() {
    for key in ["mcpServers", "mcp-servers", "mcp_server"] {
        let parsed = parse(&format!("{key}:\n  a: {{command: x}}\n"), &scope());
        let problem = &parsed.problems[0];
        assert!(!problem.is_error() && parsed.servers.is_empty());
        assert!(problem.message.contains("did you mean `mcp_servers`?"), "{problem}");
    }
    assert_eq!(parse("servers: 1\n", &scope()).problems, []);
}
