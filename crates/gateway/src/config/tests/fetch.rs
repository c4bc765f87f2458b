//! `fetch`: how pages are read.

use web_reader::PrivatePlace;

use super::*;
use crate::config::fetch::parse_private;

#[test]
fn every_fetch_key_is_parsed() {
    let config = clean(
        "fetch:
  max_bytes: 5000
  timeout: 2.5
  max_redirects: 0
  allow_downgrade: yes
  robots: off
  user_agent: example-reader/1.0 (+https://a.b)
  ports: [80, 443, 8080]
  allow_private: [wiki.internal, \"10.0.0.0/8:8080\"]
  tls_ca_file: certs/ca.pem
  concurrency: 3
  concurrency_per_host: 2
  timeouts_per_minute: 5
  cache_bytes: 0
  cache_seconds: 60
  share_cache: yes
",
    );
    let expected = Fetch {
        max_bytes: 5000,
        timeout: Duration::from_millis(2500),
        max_redirects: 0,
        allow_downgrade: true,
        robots: false,
        user_agent: "example-reader/1.0 (+https://a.b)".to_owned(),
        ports: vec![80, 443, 8080],
        allow_private: ["wiki.internal", "10.0.0.0/8:8080"]
            .iter()
            .filter_map(|text| parse_private(text))
            .collect(),
        tls_ca_file: Some(PathBuf::from("/etc/agent/certs/ca.pem")),
        concurrency: 3,
        concurrency_per_host: 2,
        timeouts_per_minute: 5,
        cache_bytes: 0,
        cache_age: Duration::from_mins(1),
        share_cache: true,
    };
    assert_eq!(config.fetch, expected);
    assert_eq!(clean("").fetch, Fetch::default());
}

#[test]
fn invalid_fetch_values_are_rejected() {
    refused(
        "fetch:
  user_agent: 007/1
  ports: [80, https]
  allow_private: [http://a.b/, a.b]
  robot: no
",
        &[
            "error 2:15: fetch.user_agent: must be at most 256 printable ASCII characters and \
             start with a name of letters, `-` and `_` that robots.txt rules can match (for \
             example `example-reader/1.0`)",
            "error 3:10: fetch.ports: must be a list of ports, each from 1 to 65535",
            "error 4:18: fetch.allow_private: `http://a.b/` is not a host or a network (write \
             `wiki.internal`, `wiki.internal:8080`, `10.1.2.0/24` or `[fd00::1]`)",
            "error 5:3: fetch.robot: is not a known key (did you mean `robots`?)",
        ],
    );
    let many = vec!["a.b"; MAX_ALLOWED + 1].join(", ");
    refused(
        &format!("fetch: {{allow_private: [{many}]}}"),
        &["error 1:24: fetch.allow_private: has more than 256 entries"],
    );
}

fn written(text: &str) -> Option<String> {
    parse_private(text).map(|private| {
        let place = match private.place {
            PrivatePlace::Host(name) => name,
            PrivatePlace::Net(address, bits) => format!("{address}/{bits}"),
        };
        format!("{place} {:?}", private.port)
    })
}

#[test]
fn hosts_and_networks_are_distinguished() {
    for (text, expected) in [
        ("wiki.internal", "wiki.internal None"),
        ("Wiki.Internal.:8080", "wiki.internal Some(8080)"),
        ("localhost", "localhost None"),
        ("10.1.2.3", "10.1.2.3/32 None"),
        ("10.1.2.3:81", "10.1.2.3/32 Some(81)"),
        ("10.1.2.0/24", "10.1.2.0/24 None"),
        ("10.1.2.0/24:8080", "10.1.2.0/24 Some(8080)"),
        ("fd00::1", "fd00::1/128 None"),
        ("[fd00::1]:8080", "fd00::1/128 Some(8080)"),
        ("fd00::/8", "fd00::/8 None"),
        ("::ffff:10.0.0.1", "10.0.0.1/32 None"),
    ] {
        assert_eq!(written(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn entries_that_are_neither_are_rejected() {
    for text in ["", "a b", "10.0.0.0/33", "fd00::/129", "http://a", "a:0", "a:70000", "1.2.3"] {
        assert_eq!(written(text), None, "{text}");
    }
}
