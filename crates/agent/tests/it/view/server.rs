//! Who is answered, with what, and for how long.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use agent_test_support::wait::{DEADLINE, eventually};
use serde_json::Value;

use super::{Served, agent, fill, folder, launch, open_store, overview};

#[test]
fn served_files_have_the_exact_bytes() {
    let agent = agent();
    fill(&agent);
    let served = Served::start(&agent);
    let next = served.get("next.json");
    assert_eq!(next.status, 200);
    assert_eq!(String::from_utf8(next.body).unwrap(), agent.run(["metrics", "show"]).stdout);

    let data: Value = serde_json::from_slice(&served.get("data.json").body).unwrap();
    let packages = data["packages"].as_array().unwrap();
    let drafts = packages.iter().filter(|package| package["state"] == "next");
    let drafts = drafts.map(|draft| served.get(draft["file"].as_str().unwrap()).body);
    let all = String::from_utf8(drafts.collect::<Vec<_>>().concat()).unwrap();
    assert_eq!(all, agent.run(["metrics", "show", "--all"]).stdout);

    let made = packages.iter().filter(|package| package["state"] == "made");
    let made: Vec<_> = made.collect();
    assert_eq!(made.len(), 2);
    for package in made {
        let file = folder(&agent).package(package["id"].as_str().unwrap());
        let answer = served.get(package["file"].as_str().unwrap());
        assert!(answer.head.contains("content-type: application/json"));
        assert_eq!(answer.body, std::fs::read(file).unwrap());
        assert_eq!(package["bytes"], answer.body.len());
    }
    for absent in ["packages/none.json", "packages/..%2fmetrics.sqlite3", "next/none.json"] {
        let answer = served.get(absent);
        assert_eq!(answer.status, 404, "{absent}");
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(told["error"]["message"].is_string());
    }
}

#[test]
fn an_empty_preview_is_an_error() {
    let agent = agent();
    drop(open_store(&agent));
    let served = Served::start(&agent);
    let answer = served.get("next.json");
    assert_eq!(answer.status, 404);
    let told: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(told["error"]["message"], "nothing was counted since the last package");
}

#[test]
fn only_requests_with_the_secret_url_are_answered() {
    let agent = agent();
    fill(&agent);
    let served = Served::start(&agent);
    let port = served.port();
    let ours = format!("127.0.0.1:{port}");
    let page = served.path("");
    let status = |method: &str, path: &str, host: &str| {
        let answer = served.ask(method, path, host);
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'\r\n",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(answer.head.contains(header), "{method} {path}: {}", answer.head);
        }
        answer.status
    };
    assert_eq!(status("GET", &page, &ours), 200);
    assert_eq!(status("HEAD", &page, &ours), 200);
    assert_eq!(status("GET", &page, &format!("localhost:{port}")), 200);

    let other = "/0123456789abcdef0123456789abcdef/";
    for path in ["/", other, "/data.json", &page[..page.len() - 1], &served.path("no-such-file")] {
        assert_eq!(status("GET", path, &ours), 404, "{path}");
    }
    let other_port = format!("127.0.0.1:{}", port ^ 1);
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", &other_port, ""] {
        assert_eq!(status("GET", &page, host), 403, "{host}");
    }
    let aimed = format!("http://evil.example:{port}{page}");
    assert_eq!(status("GET", &aimed, &ours), 403);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(status(method, &page, &ours), 405, "{method}");
    }
}

#[test]
fn the_page_makes_no_external_requests() {
    let agent = agent();
    fill(&agent);
    let (served, browser) = overview(&agent);
    browser.click("#to-packages");
    browser.click("table.packages a[href^='#']");
    let asked = "return performance.getEntriesByType('resource').some((entry) => entry.name.includes('/next/'))";
    browser.eventually("the package is asked for", asked);
    let names =
        browser.eval("return performance.getEntriesByType('resource').map((entry) => entry.name)");
    let names = names.as_array().unwrap();
    assert!(names.len() > 10, "style, modules and data: {names:?}");
    for name in names {
        assert!(name.as_str().unwrap().starts_with(&served.address), "{name}");
    }
    // What the policy forbids does not happen for any client.
    let blocked = browser.eval(
        "const broken = new Promise((seen) => addEventListener('securitypolicyviolation',
            (event) => seen(event.effectiveDirective), { once: true }));
         fetch('http://192.0.2.1/').catch(() => {});
         return await broken",
    );
    assert_eq!(blocked, "connect-src");
}

#[test]
fn a_signal_stops_the_server_despite_open_connections() {
    for signal in ["-INT", "-TERM"] {
        let agent = agent();
        drop(open_store(&agent));
        let served = Served::start(&agent);
        let port = served.port();
        let idle = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut slow = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        slow.write_all(b"GET / HTTP/1.1\r\nHost: 127").unwrap();
        // Both are accepted by now, for connections are accepted in turn.
        assert_eq!(served.get("").status, 200);
        let (code, took) = served.end(signal);
        assert_eq!(code, Some(0), "{signal}");
        assert!(took < Duration::from_secs(3), "{signal} took {took:?}");
        let again = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        assert!(again.is_err(), "nothing listens any more");
        drop((idle, slow));
    }
}

#[test]
fn a_port_in_use_is_reported_with_a_hint() {
    let agent = agent();
    drop(open_store(&agent));
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let run = agent.run(["metrics", "view", "--no-open", "--port", &port.to_string()]);
    assert_eq!(run.code, 1, "{}", run.transcript());
    assert_eq!(run.stdout, "");
    let told = format!("cannot listen on 127.0.0.1:{port}");
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    assert!(run.stderr.contains("omit `--port` to use a free one"), "{}", run.stderr);
}

#[test]
fn stdout_has_only_the_url() {
    let agent = agent();
    drop(open_store(&agent));
    let program = launch(&agent, &[]);
    let (served, address) = Served::of(program);
    assert!(address.starts_with(&format!("http://127.0.0.1:{}/", served.port())), "{address}");
    let token = address.split('/').nth(3).unwrap();
    assert_eq!(token.len(), 32, "{address}");
    assert!(address.ends_with(&format!("/{token}/\n")), "{address}");
    assert_eq!(served.get("").status, 200);
}

/// Runs the program with a separate folder of programs, in which a browser can be opened or not.
#[cfg(target_os = "linux")]
#[test]
fn a_browser_is_opened_if_available_and_allowed() {
    use std::os::unix::fs::PermissionsExt;

    let agent = agent();
    drop(open_store(&agent));
    let (programs, opened) = (agent.work().join("bin"), agent.work().join("opened"));
    std::fs::create_dir(&programs).unwrap();
    let start = |options: &[&str]| {
        let mut command = agent.command(["metrics", "view"].iter().chain(options));
        let program = command
            .env("PATH", &programs)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Served::of(program)
    };
    let notes = |served: &mut Served| {
        let stderr = BufReader::new(served.program.stderr.take().unwrap());
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || stderr.lines().try_for_each(|line| send.send(line.unwrap())));
        receive
    };

    let (mut served, _) = start(&[]);
    let told = notes(&mut served);
    let next = || told.recv_timeout(DEADLINE).unwrap();
    assert!(next().contains("Press Ctrl-C to stop"));
    assert!(next().contains("Cannot open a browser"));
    assert_eq!(served.get("").status, 200);

    let script = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display());
    let launcher = programs.join("xdg-open");
    std::fs::write(&launcher, script).unwrap();
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (served, _) = start(&["--no-open"]);
    assert_eq!(served.get("").status, 200);
    assert_eq!(served.end("-TERM").0, Some(0));
    assert!(!opened.exists(), "no browser was wanted");

    let (served, address) = start(&[]);
    eventually("the browser is opened", || {
        std::fs::read_to_string(&opened).unwrap_or_default() == address.trim_end()
    });
    assert_eq!(served.end("-INT").0, Some(0));
}
