//! Whole files, whole entries, and the text between the keys.

use super::*;

#[test]
fn other_root_keys_are_ignored() {
    for text in
        ["", "---\n", "# nothing\n", "model: x", "mcp_servers:", "mcp_servers: {}", "a: 1\na: 2"]
    {
        assert_eq!(parse(text, &scope()), Parsed::default(), "{text}");
    }
}

#[test]
fn non_mappings_are_a_single_error() {
    for text in
        ["5", "- a", "mcp_servers: 5", "mcp_servers: [a]", "mcp_servers: [a", "a: 1\n---\nb: 2"]
    {
        let problem = refused(text);
        assert!(problem.line > 0 && problem.column > 0, "{problem}");
    }
}

#[test]
fn the_global_client_document_is_parsed_and_validated() {
    let read = |text: &str| {
        let parsed = parse(text, &scope());
        let url = parsed.client_metadata_url.map(|url| url.value().to_owned());
        (url, parsed.problems.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let url = "https://me.example.com/client.json";
    let with = |value: &str| read(&format!("mcp:\n  client_metadata_url: {value}\n"));
    assert_eq!(with(url), (Some(url.to_owned()), vec![]));
    for nothing in
        ["mcp:", "mcp: {}", "mcp: {client_metadata_url: }", "mcp: {client_metadata_url: ''}"]
    {
        assert_eq!(read(nothing), (None, vec![]), "{nothing}");
    }
    let refused = |why: &str| {
        let place = "2:24: mcp.client_metadata_url: is not a valid URL of a client document";
        (None, vec![format!("{place}: {why}")])
    };
    assert_eq!(with("http://me.example.com/client.json"), refused("it does not use https"));
    assert_eq!(with("https://me.example.com"), refused("it has no path"));
    assert_eq!(
        read("mcp: {client_metadata_uri: 'https://x/y', other: 1}").1,
        [
            "1:7: mcp.client_metadata_uri: is not a known key and is ignored (did you mean \
             `client_metadata_url`?)",
            "1:43: mcp.other: is not a known key and is ignored",
        ]
    );
    assert_eq!(read("mcp: 5").1, ["1:6: mcp: must be a mapping, found a number"]);
    let twice = "mcp: `mcp` is set twice, in lines 1 and 2 (remove one of them)";
    assert_eq!(read("mcp: {}\nmcp: {}\n").1, [format!("2:1: {twice}")]);
    // What is wrong there takes no server down.
    assert_eq!(parse("mcp: 5\nmcp_servers: {a: {command: x}}", &scope()).servers.len(), 1);
}

#[test]
fn an_invalid_entry_does_not_affect_the_others() {
    let text = "mcp_servers:\n  b: {command: x}\n  bad: 7\n  none: {}\n  void:\n  a: {url: 'http://h', enabled: false}\n";
    let parsed = parse(text, &scope());
    let servers: Vec<_> = parsed
        .servers
        .iter()
        .map(|server| (server.entry.name.as_str(), server.entry.enabled, server.line))
        .collect();
    assert_eq!(servers, [("b", true, 2), ("a", false, 6)]);
    let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "3:8: bad: a server entry must be a mapping, found a number (add `url` or `command`)",
            "4:3: none: missing `url` or `command` (add `url` for a remote server or `command` for \
             a local one)",
            "5:7: void: a server entry must be a mapping, found nothing (add `url` or `command`)",
        ]
    );
}

#[test]
fn duplicate_keys_name_both_lines_and_reject_only_their_entry() {
    let text = "mcp_servers:\n  a:\n    command: x\n    timeout: 1\n    command: y\n  b:\n    command: z\n  c:\n    command: z\n    env:\n      K: 1\n      K: 2\n";
    let parsed = parse(text, &scope());
    assert_eq!(parsed.servers.len(), 1);
    assert_eq!(parsed.servers[0].entry.name, "b");
    let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "5:5: a: command: `command` is set twice, in lines 3 and 5 (remove one of them)",
            "12:7: c: env.K: `K` is set twice, in lines 11 and 12 (remove one of them)",
        ]
    );
}

#[test]
fn duplicate_servers_are_both_rejected() {
    let text = "mcp_servers:\n  a: {command: x}\n  b: {command: y}\n  a: {command: z}\n";
    let parsed = parse(text, &scope());
    assert_eq!(parsed.servers.len(), 1);
    assert!(parsed.problems[0].message.contains("in lines 2 and 4"));
    assert!(refused("mcp_servers: {}\nmcp_servers: {}").message.contains("set twice"));
}

#[test]
fn unknown_keys_warn_and_suggest() {
    for (lines, key, hint) in [
        ("comand: x", "comand", "did you mean `command`?"),
        ("connectTimeout: 5", "connectTimeout", "did you mean `connect_timeout`?"),
        ("tools: {includes: [a]}", "tools.includes", "did you mean `include`?"),
        ("include: [a]", "include", "did you mean `tools.include`?"),
        ("disabled: true", "disabled", "use `enabled: false`"),
        (
            "type: stdio",
            "type",
            "use `transport: sse` for the SSE transport; otherwise `url` or `command` selects the \
             transport",
        ),
    ] {
        let (_, problem) = warned(&local(lines));
        assert_eq!(problem.key.as_deref(), Some(key));
        assert_eq!(problem.hint.as_deref(), Some(hint), "{lines}");
    }
    assert_eq!(warned(&local("zzz: 1")).1.hint, None);
    assert_eq!(warned(&local("? [a]\n: 1")).1.key.as_deref(), Some("(a list)"));
}

#[test]
fn url_takes_precedence_over_command() {
    let (entry, problem) = warned(&entry("url: http://h\ncommand: x"));
    assert!(matches!(entry.endpoint, Endpoint::Http(_)));
    assert_eq!(problem.key.as_deref(), Some("command"));
    clean(&super::entry("url: null\ncommand: x"));
}

#[test]
fn keys_of_the_other_transport_warn() {
    for (text, key) in [
        (local("headers: {A: b}"), "headers"),
        (local("ssl_verify: false"), "ssl_verify"),
        (local("client_cert: x"), "client_cert"),
        (local("skip_preflight: true"), "skip_preflight"),
        (local("transport: sse"), "transport"),
        (local("oauth: {}"), "oauth"),
        (remote("args: [a]"), "args"),
        (remote("env: {A: b}"), "env"),
        (remote("cwd: /"), "cwd"),
        (remote("idle_timeout_seconds: 5"), "idle_timeout_seconds"),
        (remote("max_lifetime_seconds: 5"), "max_lifetime_seconds"),
        (remote("lifecycle: {}"), "lifecycle"),
    ] {
        let (_, problem) = warned(&text);
        assert_eq!(problem.key.as_deref(), Some(key));
        assert!(problem.message.contains("applies only to"), "{problem}");
    }
}

#[test]
fn unusual_server_names_warn_and_are_used() {
    let long = "n".repeat(65);
    for (name, is_valid) in [
        ("github", true),
        ("My.API_v2-x", true),
        ("n", true),
        (&long[..64], true),
        (&long, false),
        ("a b", false),
        ("ä", false),
        ("a/b", false),
        ("a:b", false),
    ] {
        assert_eq!(valid_name(name), is_valid, "{name}");
        let parsed = parse(&format!("mcp_servers: {{'{name}': {{command: x}}}}"), &scope());
        assert_eq!(parsed.servers[0].entry.name, name);
        assert_eq!(parsed.problems.len(), usize::from(!is_valid));
    }
    assert!(!valid_name(""));
}

#[test]
fn unset_and_empty_variables_warn_unless_the_server_is_disabled() {
    let (entry, problem) = warned(&local("env: {A: 'x ${ env:NOPE }'}"));
    assert_eq!(stdio(&entry).env[0].1.value(), "x ${ env:NOPE }");
    assert_eq!(
        problem.to_string(),
        "4:14: s: env.A: the variable `NOPE` is not set; its placeholder is kept (set it in the \
         profile's `.env` file or in the environment)"
    );
    let (entry, problem) = warned(&local("args: [a, '${BLANK}']"));
    assert_eq!(stdio(&entry).args[1].value(), "");
    assert_eq!(problem.key.as_deref(), Some("args[1]"));
    assert_eq!(problem.message, "the variable `BLANK` is set but empty");
    let entry = clean(&local("cwd: '/x/${NOPE:-y}'"));
    assert_eq!(stdio(&entry).cwd.as_ref().unwrap().value(), "/x/y");
    clean(&local("enabled: off\nenv: {A: '${NOPE}${BLANK}'}"));
}

#[test]
fn required_values_must_not_resolve_to_empty() {
    let parsed = parse(&entry("command: '${BLANK}'"), &scope());
    assert_eq!(parsed.servers, []);
    assert!(parsed.problems.iter().any(|problem| problem.message.ends_with("variables are empty")));
    clean(&entry("command: '${BLANK}'\nenabled: false"));
}

#[test]
fn json_with_tabs_and_escapes_is_parsed() {
    let text = "{\n\t\"mcp_servers\": {\n\t\t\"s\": {\"command\": \"a\\/\\ud83d\\ude00\\u00e4\",\n\t\t\"args\": []}\n\t}\n}\n";
    assert_eq!(stdio(&clean(text)).command.value(), "a/\u{1f600}ä");
}

#[test]
fn keys_are_never_resolved() {
    let entry = clean(&local("env: {'${TOKEN}': x}"));
    assert_eq!(stdio(&entry).env[0].0, "${TOKEN}");
}

#[test]
fn surrounding_whitespace_warns_without_showing_the_value() {
    for lines in
        ["env: {A: ' s3cret'}", "env: {A: \"s3cret\\n\"}", "args: ['s3cret ']", "cwd: 's3cret '"]
    {
        let (_, problem) = warned(&local(lines));
        assert!(problem.message.contains("whitespace") && !problem.message.contains("s3cret"));
    }
    let mut scope = scope();
    scope.secrets.insert("NL".into(), "s3cret\n".into());
    let parsed = parse(&local("env: {A: '${NL}'}"), &scope);
    assert_eq!(
        parsed.problems[0].message,
        "the value of the variable `NL` starts or ends with whitespace"
    );
}

#[test]
fn secrets_of_an_entry_are_collected_and_not_shown() {
    let text = "mcp_servers:\n  s:\n    url: https://u:passpass@h/?token=tokentoken\n    headers: {Authorization: 'Bearer ${TOKEN}', X-Api-Key: literal-key}\n";
    let parsed = parse(text, &scope());
    let known: Vec<_> = parsed.servers[0]
        .secrets
        .iter()
        .map(|secret| (secret.label.as_str(), secret.value()))
        .collect();
    assert_eq!(
        known,
        [
            ("Authorization", "Bearer from-profile"),
            ("TOKEN", "from-profile"),
            ("X-Api-Key", "literal-key"),
            ("token", "tokentoken"),
            ("URL password", "passpass"),
        ]
    );
    let shown = format!("{parsed:?}");
    for (_, value) in known {
        assert!(!shown.contains(value), "{value} in {shown}");
    }
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "base: &base {timeout: 7, env: {A: b}}\nmcp_servers:\n  s:\n    <<: *base\n    command: x\n";
    assert_eq!(clean(text).timeout, Duration::from_secs(7));
}

#[test]
fn item_and_server_limits_are_enforced() {
    let many = |count: usize, item: &dyn Fn(usize) -> String| {
        (0..count).map(item).collect::<Vec<_>>().join(", ")
    };
    let args = many(MAX_LAUNCH_ITEMS + 1, &|n| n.to_string());
    assert!(refused(&local(&format!("args: [{args}]"))).message.contains("1024"));
    let line = args.replace(',', "");
    assert!(refused(&local(&format!("args: '{line}'"))).message.contains("1024"));
    let env = many(MAX_LAUNCH_ITEMS + 1, &|n| format!("A{n}: x"));
    assert!(refused(&local(&format!("env: {{{env}}}"))).message.contains("1024"));
    let headers = many(MAX_HEADERS + 1, &|n| format!("A{n}: x"));
    assert!(refused(&remote(&format!("headers: {{{headers}}}"))).message.contains("128"));
    let names = many(MAX_FILTERS + 1, &|n| format!("t{n}"));
    assert!(refused(&local(&format!("tools: [{names}]"))).message.contains("4096"));
    let servers = many(MAX_SERVERS + 1, &|n| format!("s{n}: {{command: x}}"));
    let parsed = parse(&format!("mcp_servers: {{{servers}}}"), &scope());
    assert_eq!((parsed.servers.len(), parsed.problems.len()), (MAX_SERVERS, 1));
}
