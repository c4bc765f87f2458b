//! The keys of remote servers.

use std::time::Duration;

use super::super::super::{Auth, Flow, HttpEndpoint, HttpTransport, OauthOptions, Text, Verify};
use super::*;

fn http(entry: &ServerEntry) -> &HttpEndpoint {
    match &entry.endpoint {
        Endpoint::Http(endpoint) => endpoint,
        Endpoint::Stdio(_) => panic!("a local server"),
    }
}

fn text(text: Option<&Text>) -> Option<&str> {
    text.map(Text::value)
}

#[test]
fn a_minimal_remote_entry_has_every_default() {
    let endpoint = Box::new(HttpEndpoint::new("https://a.b/mcp"));
    assert_eq!(clean(&remote("")), ServerEntry::new("s", Endpoint::Http(endpoint)));
}

#[test]
fn urls_are_http_or_https_with_a_host() {
    for (value, expected) in [
        ("http://localhost:3000", "http://localhost:3000"),
        ("HTTPS://A.B/x?y=1", "HTTPS://A.B/x?y=1"),
        ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
        ("https://${HOST}/mcp", "https://mcp.example.com/mcp"),
        ("https://a.b/${/}x", "https://a.b//x"),
    ] {
        assert_eq!(http(&clean(&entry(&format!("url: {value}")))).url.value(), expected);
    }
    let (trimmed, _) = warned(&entry("url: ' https://a.b/ '"));
    assert_eq!(http(&trimmed).url.value(), "https://a.b/");
    for value in [
        "ftp://a.b/", "a.b/mcp", "https://", "http://:80/", "https:///x", "file:///etc/passwd",
        "\"https://a b/\"", "5", "[https://a.b]", "''", "stdio", "http://\u{fc}.b/",
    ] {
        let problem = refused(&entry(&format!("url: {value}")));
        assert!(problem.message.starts_with("must be an http or https URL"), "{problem}");
        assert_eq!(problem.key.as_deref(), Some("url"));
    }
}

#[test]
fn an_unset_host_is_rejected_unless_the_server_is_disabled() {
    let parsed = parse(&entry("url: https://${NOPE}/x"), &scope());
    assert_eq!(parsed.servers, []);
    assert_eq!(parsed.problems.len(), 2);
    assert!(parsed.problems.iter().any(|problem| problem.message.contains("`NOPE` is not set")));
    let entry = clean(&entry("url: https://${NOPE}/x\nenabled: false"));
    assert_eq!(http(&entry).url.value(), "https://${NOPE}/x");
}

#[test]
fn headers_are_validated_without_being_shown() {
    let entry = clean(&remote("headers: {Authorization: 'Bearer ${TOKEN}', X-N: 1.10}"));
    let headers: Vec<_> =
        http(&entry).headers.iter().map(|(n, v)| (n.as_str(), v.value())).collect();
    assert_eq!(headers, [("Authorization", "Bearer from-profile"), ("X-N", "1.10")]);
    for (value, key) in [
        ("[a]", "headers"),
        ("{'A B': s3cret}", "headers.A B"),
        ("{A: [s3cret]}", "headers.A"),
        ("{A: s3cret, a: s3cret}", "headers.a"),
        ("{A: \"s3cret\\nX: y\"}", "headers.A"),
        ("{A: \"s3cret\\x7f\"}", "headers.A"),
    ] {
        let problem = refused(&remote(&format!("headers: {value}")));
        assert_eq!(problem.key.as_deref(), Some(key));
        assert!(!problem.to_string().contains("s3cr"), "{problem}");
    }
    assert_eq!(http(&warned(&remote("headers: {A: null}")).0).headers, []);
}

#[test]
fn transport_names_are_parsed() {
    for (word, expected) in [
        ("sse", HttpTransport::Sse),
        ("SSE", HttpTransport::Sse),
        ("http", HttpTransport::Streamable),
        ("streamable-http", HttpTransport::Streamable),
    ] {
        assert_eq!(http(&clean(&remote(&format!("transport: {word}")))).transport, expected);
    }
    let (entry, _) = warned(&remote("transport: websocket"));
    assert_eq!(http(&entry).transport, HttpTransport::Streamable);
    clean(&local("transport: stdio"));
    assert!(http(&clean(&remote("skip_preflight: 'yes'"))).skip_preflight);
}

#[test]
fn ssl_verify_is_a_switch_or_a_path() {
    let verify =
        |value: &str| http(&clean(&remote(&format!("ssl_verify: {value}")))).verify.clone();
    assert_eq!(verify("true"), Verify::System);
    assert_eq!(verify("'True'"), Verify::System);
    assert_eq!(verify("false"), Verify::Off);
    assert_eq!(verify("0"), Verify::Off);
    assert_eq!(verify("no"), Verify::Off);
    assert_eq!(verify("'${SWITCH}'"), Verify::Off);
    let Verify::Bundle(path) = verify("~/ca.pem") else { panic!() };
    assert_eq!((path.shown(), path.value()), ("~/ca.pem", "/home/ada/ca.pem"));
    for value in ["[a]", "''", "7", "{}"] {
        assert_eq!(
            refused(&remote(&format!("ssl_verify: {value}"))).key.as_deref(),
            Some("ssl_verify")
        );
    }
}

#[test]
fn client_certificates_have_three_forms() {
    let cert = |lines: &str| http(&clean(&remote(lines))).client_cert.clone().unwrap();
    let one = cert("client_cert: ~/c.pem");
    assert_eq!((one.cert.value(), text(one.key.as_ref())), ("/home/ada/c.pem", None));
    let two = cert("client_cert: c.pem\nclient_key: ~/k.pem");
    assert_eq!((two.cert.value(), text(two.key.as_ref())), ("c.pem", Some("/home/ada/k.pem")));
    let list = cert("client_cert: [c.pem, ~/k.pem]");
    assert_eq!(
        (text(list.key.as_ref()), text(list.password.as_ref())),
        (Some("/home/ada/k.pem"), None)
    );
    let three = cert("client_cert: [c.pem, k.pem, s3cret]");
    assert_eq!(text(three.password.as_ref()), Some("s3cret"));
    assert!(!format!("{three:?}").contains("s3cret"));
}

#[test]
fn invalid_client_certificates_are_rejected() {
    for (lines, key) in [
        ("client_key: k.pem", "client_key"),
        ("client_cert: [c, k]\nclient_key: k", "client_key"),
        ("client_cert: [c]", "client_cert"),
        ("client_cert: []", "client_cert"),
        ("client_cert: [c, k, p, x]", "client_cert"),
        ("client_cert: [c, k, 1234]", "client_cert[2]"),
        ("client_cert: [c, '']", "client_cert[1]"),
        ("client_cert: [c, null]", "client_cert[1]"),
        ("client_cert: 5", "client_cert"),
        ("client_cert: ''", "client_cert"),
        ("client_cert: c\nclient_key: []", "client_key"),
    ] {
        let problem = refused(&remote(lines));
        assert_eq!(problem.key.as_deref(), Some(key), "{lines}");
        assert!(!problem.message.contains("1234"), "{problem}");
    }
}

#[test]
fn auth_is_oauth_or_absent() {
    assert_eq!(http(&clean(&remote("auth: null"))).auth, Auth::Static);
    let entry = clean(&remote("auth: OAuth"));
    let Auth::OAuth(options) = &http(&entry).auth else { panic!() };
    assert_eq!(**options, OauthOptions::default());
    for value in ["Bearer s3cret", "true", "[oauth]", "''"] {
        let problem = refused(&remote(&format!("auth: {value}")));
        assert!(problem.message.starts_with("must be `oauth`, found"), "{problem}");
        assert!(!problem.message.contains("s3cret"), "{problem}");
    }
    let (entry, problem) = warned(&remote("oauth: {client_id: x}"));
    assert_eq!(http(&entry).auth, Auth::Static);
    assert_eq!(problem.message, "has no effect without `auth: oauth`");
    let (_, problem) = warned(&local("auth: oauth"));
    assert_eq!(problem.message, "applies only to remote servers (`url`); it is ignored");
}

#[test]
fn every_oauth_option_is_parsed() {
    let lines = "auth: oauth\noauth:\n  client_metadata_url: https://a.b/c.json\n  cimd: no\n  \
                 user_agent: agent/1\n  client_id: 5\n  client_secret: s3cret\n  client_name: n\n  \
                 token_endpoint_auth_method: none\n  redirect_uri: https://p/cb\n  \
                 redirect_port: 8123\n  redirect_host: localhost\n  scope: a b\n  timeout: 9";
    let parsed = parse(&remote(lines), &scope());
    assert_eq!(parsed.problems, []);
    let Auth::OAuth(o) = &http(&parsed.servers[0].entry).auth else { panic!() };
    let texts = [
        &o.client_metadata_url, &o.user_agent, &o.client_id, &o.client_secret, &o.client_name,
        &o.token_endpoint_auth_method, &o.redirect_uri, &o.redirect_host, &o.scope,
    ];
    let expected = [
        "https://a.b/c.json", "agent/1", "5", "s3cret", "n", "none", "https://p/cb", "localhost",
        "a b",
    ];
    assert_eq!(texts.map(|text| text.as_ref().unwrap().value()), expected);
    assert_eq!(
        (o.cimd, o.redirect_port, o.timeout),
        (Some(false), Some(8123), Some(Duration::from_secs(9)))
    );
    assert!(!format!("{parsed:?}").contains("s3cret"));
    assert_eq!(parsed.servers[0].secrets[0].label, "oauth.client_secret");
}

#[test]
fn empty_oauth_options_are_unset() {
    let lines = "auth: oauth\noauth: {user_agent: '', scope: , client_id: '', redirect_port: 0}";
    let entry = clean(&remote(lines));
    let Auth::OAuth(options) = &http(&entry).auth else { panic!() };
    assert_eq!(**options, OauthOptions::default());
}

#[test]
fn invalid_oauth_options_are_rejected() {
    let oauth = |option: &str| remote(&format!("auth: oauth\noauth: {option}"));
    for option in [
        "{redirect_port: 65536}", "{redirect_port: x}", "{timeout: 0}", "{cimd: x}",
        "{user_agent: \"a\\nb\"}",
    ] {
        warned(&oauth(option));
    }
    for option in ["5", "{client_id: [x]}", "{client_secret: {}}"] {
        refused(&oauth(option));
    }
    for (address, why) in [
        ("http://a.b/c", "it does not use https"),
        ("https://a.b", "it has no path"),
        ("https://a.b/", "it has no path"),
        ("https://a.b/c#d", "it has a fragment"),
        ("https://u:p@a.b/c", "it has user information"),
        ("https://a.b/x/../c", "it has a `.` or `..` segment"),
        ("https://a.b/%2E/c", "it has a `.` or `..` segment"),
        ("c.json", "it does not start with `http://` or `https://`"),
    ] {
        let problem = refused(&oauth(&format!("{{client_metadata_url: '{address}'}}")));
        assert!(problem.message.ends_with(why), "{problem}");
    }
}

fn oauth(options: &str) -> String {
    remote(&format!("auth: oauth\noauth: {{{options}}}"))
}

fn options(entry: &ServerEntry) -> &OauthOptions {
    match &http(entry).auth {
        Auth::OAuth(options) => options,
        Auth::Static => panic!("no sign-in"),
    }
}

#[test]
fn every_flow_is_parsed_with_its_required_options() {
    for (lines, flow) in [
        ("flow: browser", Flow::Browser),
        ("flow: ", Flow::Browser),
        ("flow: client_credentials, client_id: c, client_secret: s3cret", Flow::ClientCredentials),
        ("flow: client_credentials, client_id: c, private_key: ~/k.pem", Flow::ClientCredentials),
        ("flow: workload, assertion_file: /run/a", Flow::Workload),
        ("flow: workload, assertion: s3cret", Flow::Workload),
        (
            "flow: enterprise, client_id: c, idp_token_endpoint: https://i/t, assertion: s3cret",
            Flow::Enterprise,
        ),
    ] {
        assert_eq!(options(&clean(&oauth(lines))).flow, flow, "{lines}");
    }
}

#[test]
fn every_missing_flow_option_is_reported() {
    let messages = |lines: &str| -> Vec<String> {
        let parsed = parse(&oauth(lines), &scope());
        assert_eq!(parsed.servers, [], "{lines}");
        parsed.problems.into_iter().map(|problem| problem.message).collect()
    };
    let needs = |key: &str| format!("this `flow` also requires `{key}`");
    let secret = "client_secret` or `private_key";
    assert_eq!(messages("flow: client_credentials"), [needs("client_id"), needs(secret)]);
    assert_eq!(messages("flow: client_credentials, client_id: c"), [needs(secret)]);
    assert_eq!(messages("flow: workload"), [needs("assertion_file")]);
    assert_eq!(
        messages("flow: enterprise"),
        [needs("client_id"), needs("idp_token_endpoint"), needs("assertion_file")]
    );
}

#[test]
fn an_unknown_flow_warns_and_falls_back_to_the_browser() {
    let (entry, problem) = warned(&oauth("flow: client_credential"));
    assert_eq!(options(&entry).flow, Flow::Browser);
    assert_eq!(problem.key.as_deref(), Some("oauth.flow"));
    for word in ["browser", "client_credentials", "workload", "enterprise"] {
        assert!(problem.message.contains(word), "{problem}");
    }
}

#[test]
fn token_endpoint_auth_method_must_be_known() {
    for word in ["none", "client_secret_basic", "client_secret_post"] {
        let entry = clean(&oauth(&format!("token_endpoint_auth_method: {word}")));
        assert_eq!(options(&entry).token_endpoint_auth_method.as_ref().unwrap().value(), word);
    }
    let (entry, problem) = warned(&oauth("token_endpoint_auth_method: basic"));
    assert_eq!(options(&entry).token_endpoint_auth_method, None);
    assert!(problem.message.starts_with("must be one of `"), "{problem}");
    assert!(problem.message.ends_with("; the value is ignored"), "{problem}");
}

#[test]
fn redirect_uris_are_loopback_or_https() {
    for uri in ["https://proxy.test/cb", "http://127.0.0.1:9/cb", "http://localhost/cb"] {
        let entry = clean(&oauth(&format!("redirect_uri: '{uri}'")));
        assert_eq!(options(&entry).redirect_uri.as_ref().unwrap().value(), uri);
    }
    for uri in ["http://a.test/cb", "https://a.test/cb#x", "app:/cb", "/cb"] {
        let problem = refused(&oauth(&format!("redirect_uri: '{uri}'")));
        assert!(problem.message.starts_with("must be an https URL"), "{problem}");
    }
    for host in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        let entry = clean(&oauth(&format!("redirect_host: '{host}'")));
        assert_eq!(options(&entry).redirect_host.as_ref().unwrap().value(), host);
    }
    for host in ["a.test", "0.0.0.0", "::1", "a.localhost", "localhost:8080", "http://localhost"] {
        let problem = refused(&oauth(&format!("redirect_host: '{host}'")));
        assert_eq!(
            problem.message,
            "must be a loopback host: `127.0.0.1`, `localhost`, `[::1]`; for a redirect through a \
             proxy, set `redirect_uri` to the full https URL"
        );
    }
}

#[test]
fn idp_urls_must_be_secure_and_secrets_are_hidden() {
    let problem = refused(&oauth("idp_token_endpoint: 'http://idp.test/token'"));
    assert_eq!(problem.message, "must be an https URL, or an http URL of this machine");
    let lines = "flow: enterprise, client_id: c, idp_client_id: i, idp_client_secret: s3cret-1, \
                 assertion: s3cret-2, idp_token_endpoint: 'https://idp.test/token'";
    let parsed = parse(&oauth(lines), &scope());
    assert_eq!(parsed.problems, []);
    assert!(!format!("{parsed:?}").contains("s3cret"));
    let labels: Vec<_> =
        parsed.servers[0].secrets.iter().map(|secret| secret.label.as_str()).collect();
    assert_eq!(labels, ["oauth.idp_client_secret", "oauth.assertion"]);
}

#[test]
fn oauth_paths_expand_the_home_folder() {
    let entry = clean(&oauth("private_key: ~/k.pem, assertion_file: ~/a"));
    let options = options(&entry);
    for (path, end) in [(&options.private_key, "/k.pem"), (&options.assertion_file, "/a")] {
        let path = path.as_ref().unwrap().value();
        assert!(!path.starts_with('~') && path.ends_with(end), "{path}");
    }
}
