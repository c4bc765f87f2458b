//! Who gets a page, and who may change something.

use agent_test_support::wait::eventually;

use super::*;

/// The head without lower case: secrets are case-sensitive.
fn session(dashboard: &Dashboard) -> (String, String) {
    let path = dashboard.link.strip_prefix(&dashboard.origin()).unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, dashboard.port())).unwrap();
    let port = dashboard.port();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let cookie = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let page = dashboard.get("/servers-add", &cookie).body;
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    (cookie, csrf.to_owned())
}

#[test]
fn only_the_browser_that_opened_the_link_is_authorized() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    for path in ["/", "/servers", "/chats", "/metrics/", "/metrics/data.json", "/no-such-page"] {
        let answer = dashboard.get(path, "");
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.body.contains("Run <code>agent dashboard</code>"), "{path}");
    }
    let guess = format!("/open/{}", "A".repeat(43));
    assert_eq!(dashboard.get(&guess, "").status, 401);
    assert_eq!(dashboard.get("/open/", "").status, 401);
    let (cookie, _) = session(&dashboard);
    let page = dashboard.get("/", &cookie);
    assert_eq!(page.status, 200);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "frame-ancestors 'none'",
        "x-frame-options: deny",
        "cache-control: no-store",
    ] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
    // The link is used; the session is not.
    let path = dashboard.link.strip_prefix(&dashboard.origin()).unwrap();
    assert_eq!(dashboard.get(path, "").status, 401);
    let metrics = dashboard.get("/metrics/", &cookie);
    assert!(metrics.status == 200 && metrics.body.contains("href=\"/servers\""), "{metrics:?}");
    let other = cookie.replace(&dashboard.port().to_string(), "1");
    assert_eq!(dashboard.get("/", &other).status, 401);
}

#[test]
fn foreign_host_headers_are_rejected() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let (cookie, _) = session(&dashboard);
    let port = dashboard.port();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", ""] {
        let request =
            format!("GET / HTTP/1.1\r\nHost: {host}\r\n{cookie}Connection: close\r\n\r\n");
        assert_eq!(dashboard.ask(&request).status, 403, "{host}");
    }
    let absolute = format!(
        "GET http://evil.example:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{cookie}Connection: close\r\n\r\n"
    );
    assert_eq!(dashboard.ask(&absolute).status, 403);
}

#[test]
fn only_same_origin_forms_are_accepted() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let (cookie, csrf) = session(&dashboard);
    let (port, before) = (dashboard.port(), config(&setup));
    let status = |origin: &str, csrf: &str, more: &str| {
        let body = format!("csrf={csrf}");
        let request = format!(
            "POST /servers/all/do/remove HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{origin}{cookie}{more}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        dashboard.ask(&request).status
    };
    let own = format!("Origin: http://127.0.0.1:{port}\r\n");
    for (origin, csrf, more) in [
        ("", csrf.as_str(), ""),
        ("Origin: null\r\n", &csrf, ""),
        ("Origin: http://evil.example\r\n", &csrf, ""),
        (&*own, "", ""),
        (&own, &"0".repeat(64), ""),
        (&own, &csrf, "Sec-Fetch-Site: cross-site\r\n"),
    ] {
        assert_eq!(status(origin, csrf, more), 403, "{origin:?} {csrf} {more}");
        assert_eq!(config(&setup), before);
    }
    assert_eq!(status(&own, &csrf, "Sec-Fetch-Site: same-origin\r\n"), 303);
    assert!(!config(&setup).contains("  all:"));
}

#[test]
fn a_later_command_opens_the_running_dashboard() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let second = setup.agent(&["--json", "dashboard", "--no-open"]);
    assert_eq!(second.code, 0, "{}", second.transcript());
    let said: Value = serde_json::from_str(&second.stdout).unwrap();
    let link = said["address"].as_str().unwrap();
    assert!(link.starts_with(&dashboard.origin()), "{link}");
    assert_ne!(link, dashboard.link);
    let socket = setup.fixture.agent.home().join("dashboard.sock");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&socket).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // One that was killed leaves its socket, which the next one takes over.
    drop(dashboard);
    assert!(socket.exists());
    let next = Dashboard::start(&setup);
    assert_eq!(next.get("/", "").status, 401);
}

#[test]
fn a_signal_stops_the_dashboard_and_removes_its_socket() {
    let setup = setup();
    let mut dashboard = Dashboard::start(&setup);
    let id = dashboard.program.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let mut code = None;
    eventually("it ends", || {
        code = dashboard.program.try_wait().unwrap();
        code.is_some()
    });
    assert!(code.unwrap().success());
    assert!(!setup.fixture.agent.home().join("dashboard.sock").exists());
}

#[test]
fn too_many_open_install_links_are_refused() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let entry = serde_json::json!({"url": "https://example.com/mcp"});
    let install = mcp_client::install_link::build("docs", entry.as_object().unwrap()).unwrap();
    for _ in 0..20 {
        assert!(link(&setup, &["--link", &install]).starts_with(&dashboard.origin()));
    }
    let refused = setup.agent(&["dashboard", "--no-open", "--link", &install]);
    assert_eq!(refused.code, 1, "{}", refused.transcript());
    assert!(refused.stderr.contains("20 install links are open"), "{}", refused.transcript());
    assert!(link(&setup, &[]).starts_with(&dashboard.origin()));
}

#[test]
fn concurrent_starts_give_one_dashboard() {
    let setup = setup();
    let start = || {
        let mut command = setup.command(["--json", "dashboard", "--no-open"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let programs: Vec<Child> = (0..4).map(|_| start()).collect();
    let all: Vec<Dashboard> = programs.into_iter().map(Dashboard::of).collect();
    for one in &all {
        assert_eq!(one.origin(), all[0].origin());
    }
}

#[test]
fn a_replaced_socket_is_not_removed() {
    let setup = setup();
    let mut dashboard = Dashboard::start(&setup);
    let socket = setup.fixture.agent.home().join("dashboard.sock");
    fs::remove_file(&socket).unwrap();
    let next = Dashboard::start(&setup);
    let id = dashboard.program.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    dashboard.program.wait().unwrap();
    assert!(link(&setup, &[]).starts_with(&next.origin()));
}

/// Only root can act as another user.
#[cfg(target_os = "linux")]
#[test]
fn links_are_refused_to_other_users() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let curl = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"];
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--clear-groups"]).args(curl).arg(&dashboard.link);
    let said = other.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "403", "{said:?}");
    // The link was not used.
    let said = Command::new(curl[0]).args(&curl[1..]).arg(&dashboard.link).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "303", "{said:?}");
}
