//! Tests of `mcp`.

use super::*;

#[tokio::test]
async fn call_is_cancelled_by_its_id_while_it_runs() {
    let running = Arc::new(BackgroundTasks::default());
    let call = |request: &str| call_name("k", "s", request);
    let (one, two) = (running.start(&call("1")), running.start(&call("\"1\"")));
    running.cancel(&call("1"));
    one.cancelled.cancelled().await;
    assert!(!two.cancelled.is_cancelled());
    drop((one, two));
    assert!(running.updates(&call("1")).is_none() && running.updates(&call("\"1\"")).is_none());
    running.cancel(&call("1"));
}

fn allows(host: &str, origin: Option<&str>) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, host.parse().unwrap());
    if let Some(origin) = origin {
        headers.insert(ORIGIN, origin.parse().unwrap());
    }
    let config = Mcp {
        allowed_hosts: vec!["inside.example".to_owned()],
        allowed_origins: vec!["https://app.example:8443".to_owned()],
    };
    let public = "https://ai.example.com/x".parse().unwrap();
    check_peer(&headers, &public, &config).is_ok()
}

#[test]
fn own_configured_and_ip_hosts_are_accepted() {
    for host in [
        "ai.example.com", "AI.example.com:443", "localhost:8930", "127.0.0.1:8930", "[::1]:80",
        "10.1.2.3", "inside.example:99",
    ] {
        assert!(allows(host, None), "{host}");
    }
    for host in ["evil.example", "ai.example.com.evil.example", "localhost.evil.example", "a b"] {
        assert!(!allows(host, None), "{host}");
    }
    let none = check_peer(&HeaderMap::new(), &"http://a".parse().unwrap(), &Mcp::default());
    assert!(none.is_err());
}

#[test]
fn own_configured_and_loopback_origins_are_accepted() {
    for origin in [
        "https://ai.example.com", "http://localhost:6274", "http://127.0.0.1", "http://[::1]:1",
        "https://app.example:8443",
    ] {
        assert!(allows("localhost", Some(origin)), "{origin}");
    }
    for origin in [
        "http://ai.example.com", "https://ai.example.com:444", "https://evil.example", "null",
        "https://app.example", "http://localhost.evil.example", "http://10.0.0.1", "",
    ] {
        assert!(!allows("localhost", Some(origin)), "{origin}");
    }
}
