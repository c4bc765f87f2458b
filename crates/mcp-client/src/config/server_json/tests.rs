//! Tests of `server_json`.
#![expect(clippy::needless_pass_by_value, reason = "documents are written where they are used")]

use super::*;

fn listed(server: Json) -> ListedServer {
    let official = json!({ OFFICIAL: {"status": "active", "isLatest": true} });
    serde_json::from_value(json!({"server": server, "_meta": official})).unwrap()
}

fn package(package: Json) -> ListedServer {
    listed(json!({"name": "a/b", "version": "1.0.0", "description": "d", "packages": [package]}))
}

fn remote(remote: Json) -> ListedServer {
    listed(json!({"name": "a/b", "version": "1.0.0", "description": "d", "remotes": [remote]}))
}

fn template(listed: &ListedServer) -> Result<EntryTemplate, ServerJsonError> {
    listed.template("a/b", None, Preference::Package)
}

/// The entry with these answers to the questions.
fn entry(listed: &ListedServer, answers: &[&str]) -> Json {
    let template = template(listed).unwrap();
    assert_eq!(template.questions.len(), answers.len(), "{:?}", template.questions);
    let answers: Vec<_> = answers.iter().map(|answer| Some((*answer).to_owned())).collect();
    template.entry(&answers)
}

#[test]
fn packages_become_commands_of_exactly_this_version() {
    let npm = package(json!({
        "registryType": "npm", "registryBaseUrl": "https://packages.example",
        "identifier": "@a/b", "version": "1.0.2", "transport": {"type": "stdio"},
        "runtimeArguments": [{"type": "named", "name": "--node-arg", "value": "x"}],
        "packageArguments": [
            {"type": "positional", "value": "start"},
            {"type": "positional", "valueHint": "folder", "isRequired": true, "isRepeated": true},
            {"type": "named", "name": "--mode", "default": "local", "choices": ["local", "far"]},
            {"type": "named", "name": "--optional", "description": "left out"},
        ],
        "environmentVariables": [
            {"name": "KEY", "isRequired": true, "isSecret": true, "description": "The key"},
            {"name": "LEVEL", "default": "info"},
            {"name": "UNUSED"},
        ],
    }));
    let questions = template(&npm).unwrap().questions;
    let names: Vec<_> = questions.iter().map(|one| (&*one.name, one.is_required)).collect();
    assert_eq!(names, [("KEY", true), ("LEVEL", false), ("folder", true), ("--mode", false)]);
    assert!(questions[0].is_secret);
    assert_eq!(
        entry(&npm, &["k", "info", "/tmp", "far"]),
        json!({"command": "npx", "env": {"KEY": "k", "LEVEL": "info"},
               "args": ["-y", "--node-arg", "x", "@a/b@1.0.2", "start", "/tmp", "--mode", "far"]})
    );
    // What lacks an answer is left out with its name.
    let some = template(&npm).unwrap().entry(&[Some("k".into()), None, Some("/".into()), None]);
    assert_eq!(some["args"], json!(["-y", "--node-arg", "x", "@a/b@1.0.2", "start", "/"]));
    assert_eq!(some["env"], json!({"KEY": "k"}));

    let pypi = package(json!({"registryType": "pypi", "identifier": "b", "version": "2.0"}));
    assert_eq!(entry(&pypi, &[]), json!({"command": "uvx", "args": ["b==2.0"]}));
}

#[test]
fn container_variables_are_passed_by_name() {
    let image = package(json!({
        "registryType": "oci", "identifier": "ghcr.io/a/b:1.0", "transport": {"type": "stdio"},
        "runtimeArguments": [{
            "type": "named", "name": "--mount", "isRequired": true,
            "value": "type=bind,src={source},dst={target}{other}",
            "variables": {"source": {"isRequired": true}, "target": {"value": "/project"}},
        }],
        "environmentVariables": [{"name": "KEY", "isRequired": true}],
    }));
    assert_eq!(
        entry(&image, &["k", "/home"]),
        json!({"command": "docker", "env": {"KEY": "k"}, "args": [
            "run", "-i", "--rm", "-e", "KEY", "--mount",
            "type=bind,src=/home,dst=/project{other}", "ghcr.io/a/b:1.0",
        ]})
    );
}

#[test]
fn remotes_become_urls_with_headers() {
    let far = remote(json!({
        "type": "sse", "url": "https://{tenant}.example.com/sse",
        "variables": {"tenant": {"description": "Your tenant", "isRequired": true}},
        "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "isRequired": true,
             "variables": {"token": {"isSecret": true}}},
            {"name": "X-Region", "default": "eu"},
        ],
    }));
    let questions = template(&far).unwrap().questions;
    assert!(questions[1].is_secret && questions[1].is_required, "{questions:?}");
    assert_eq!(
        entry(&far, &["me", "t0ken", "eu"]),
        json!({"url": "https://me.example.com/sse", "transport": "sse",
               "headers": {"Authorization": "Bearer t0ken", "X-Region": "eu"}})
    );
    let both = listed(json!({
        "name": "a/b", "version": "1",
        "packages": [{"registryType": "npm", "identifier": "b", "version": "1"}],
        "remotes": [{"type": "streamable-http", "url": "https://h/mcp"}],
    }));
    assert_eq!(entry(&both, &[])["command"], "npx");
    let preferred = both.template("a/b", Some("1"), Preference::Remote).unwrap();
    assert_eq!(preferred.entry(&[]), json!({"url": "https://h/mcp"}));
}

#[test]
fn malformed_packages_are_rejected() {
    let npm = |more: Json| {
        let mut all = json!({"registryType": "npm", "identifier": "b", "version": "1"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        template(&package(all)).unwrap_err().to_string()
    };
    for (more, why) in [
        (json!({"identifier": "--eval=evil"}), "its identifier `--eval=evil` is invalid"),
        (json!({"identifier": "b evil"}), "its identifier `b evil` is invalid"),
        (json!({"identifier": ""}), "its identifier `` is invalid"),
        (json!({"identifier": "https://evil.example/x.tgz"}), "its identifier"),
        (json!({"identifier": "@a/../../evil"}), "its identifier"),
        (json!({"identifier": "git+ssh://evil"}), "its identifier"),
        (json!({"identifier": "../evil"}), "its identifier"),
        (json!({"version": "1 --registry=evil"}), "its version"),
        (json!({"version": ">=1"}), "its version"),
        (json!({"version": null}), "its version"),
        (
            json!({"packageArguments": [
                {"type": "positional", "isRequired": true, "choices": ["${HOME}"]},
            ]}),
            "a variable of this machine",
        ),
        (json!({"registryBaseUrl": "http://packages.example"}), "not https"),
        (
            json!({"environmentVariables": [{"name": "A", "value": "${AWS_SECRET}"}]}),
            "a variable of this machine",
        ),
        (
            json!({"packageArguments": [{"type": "positional", "default": "${HOME}"}]}),
            "a variable of this machine",
        ),
        (json!({"transport": {"type": "streamable-http"}}), "neither a remote address"),
        (json!({"registryType": "mcpb"}), "neither a remote address nor a package"),
    ] {
        let said = npm(more.clone());
        assert!(said.contains(why), "{more}: {said}");
    }
    for url in ["http://h/mcp", "https://", "https://user@h/", "file:///etc/passwd", "${X}"] {
        let error = template(&remote(json!({"type": "sse", "url": url}))).unwrap_err();
        assert!(matches!(error, ServerJsonError::Insecure { .. }), "{url}: {error}");
    }
    let many: Vec<Json> =
        (0..=MAX_INPUTS).map(|n| json!({"type": "positional", "value": n.to_string()})).collect();
    assert_eq!(npm(json!({"packageArguments": many})), ServerJsonError::TooMany.to_string());
    let good = package(json!({"registryType": "npm", "identifier": "b", "version": "1"}));
    for (name, version) in [("a/other", None), ("a/b", Some("9.9.9"))] {
        let error = good.template(name, version, Preference::Package).unwrap_err();
        assert!(matches!(error, ServerJsonError::Another { .. }), "{error}");
    }
    let mut deleted = good.clone();
    deleted.meta[OFFICIAL]["status"] = "deleted".into();
    assert_eq!(template(&deleted).unwrap_err(), ServerJsonError::Deleted);
}
