//! Tests of `url`.

use super::*;

#[test]
fn loopback_and_private_hosts_are_detected_in_every_notation() {
    let loopback = [
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.LocalHost.", "127.0.0.1",
        "127.9.9.9", "127.0.0.1.", "::1", "::ffff:127.0.0.1",
    ];
    let neighbours = [
        "0.0.0.0", "0.1.2.3", "::", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254",
        "100.64.0.1", "100.127.255.255", "255.255.255.255", "fe80::1", "fd00::1",
        "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::ffff:100.64.0.1", "::ffff:0.0.0.0",
        "2130706433", "127.1", "0x7f000001", "0x7f.1", "0177.0.0.01", "10.1.",
    ];
    let public = [
        "a.example", "localhost.example", "notlocalhost", "127.0.0.1.example", "192.0.2.1",
        "100.63.255.255", "100.128.0.0", "172.32.0.1", "2001:db8::1", "::ffff:192.0.2.1",
        "a1.example", "1.example", "example.",
    ];
    for host in loopback {
        assert!(is_loopback(host) && is_private(host), "{host}");
    }
    for host in neighbours {
        assert!(!is_loopback(host) && is_private(host), "{host}");
    }
    for host in public {
        assert!(!is_loopback(host) && !is_private(host), "{host}");
    }
}

#[test]
fn only_https_and_loopback_urls_are_secure() {
    for safe in
        ["https://a.example/x", "http://127.0.0.1:1/x", "http://localhost/x", "http://[::1]/"]
    {
        assert!(is_secure(&safe.parse().unwrap()), "{safe}");
    }
    for unsafe_ in ["http://a.example/x", "http://192.168.0.1/x", "http://127.0.0.1.evil.example/"]
    {
        assert!(!is_secure(&unsafe_.parse().unwrap()), "{unsafe_}");
    }
}
