//! Every row of the locality tables, and the edges between them.

use super::*;

/// Whether the host alone makes a model local: no provider of this family does.
fn host_is_local(host: &str) -> bool {
    of(Some(host), ProviderFamily::Unknown) == Locality::Local
}

#[test]
fn loopback_names_are_local() {
    let local = [
        "localhost", "LOCALHOST", "localhost.", " localhost ", "agent.localhost",
        "host.docker.internal", "Host.Docker.Internal.", "host.containers.internal",
        "host.lima.internal",
    ];
    for host in local {
        assert!(host_is_local(host), "{host}");
    }
}

#[test]
fn similar_names_are_not_local() {
    let elsewhere = [
        "",
        ".",
        "api.example.com",
        "localhost.example.com",
        "notlocalhost",
        "localhost..",
        "docker.internal",
        "hostdocker.internal",
        "host.docker.internal.example.com",
        "metadata.google.internal",
        "127.0.0.1.example.com",
        "10.example.com",
        "localhost%lo",
    ];
    for host in elsewhere {
        assert!(!host_is_local(host), "{host}");
    }
}

#[test]
fn private_ipv4_ranges_are_local_to_their_bounds() {
    let ranges = [
        ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
        ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
        ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
        ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
        ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
        ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
        ("255.255.255.255", "0.0.0.0", "0.0.0.0", "0.0.0.1"),
    ];
    for (before, first, last, after) in ranges {
        for (host, local) in [(before, false), (first, true), (last, true), (after, false)] {
            assert_eq!(host_is_local(host), local, "{host}");
            let mapped = format!("[::ffff:{host}]");
            assert_eq!(host_is_local(&mapped), local, "{mapped}");
        }
    }
    assert!(host_is_local("127.0.0.1."));
    assert!(host_is_local("192.168.1.20"));
}

#[test]
fn private_ipv6_ranges_are_local_to_their_bounds() {
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let rows = [
        ("::".to_owned(), true),
        ("::1".to_owned(), true),
        ("::2".to_owned(), false),
        (format!("fbff:{last}"), false),
        ("fc00::".to_owned(), true),
        (format!("fdff:{last}"), true),
        ("fe00::".to_owned(), false),
        (format!("fe7f:{last}"), false),
        ("fe80::".to_owned(), true),
        (format!("febf:{last}"), true),
        ("fec0::".to_owned(), false),
        ("2001:db8::1".to_owned(), false),
        // An IPv4-compatible address, which is not an IPv4-mapped one.
        ("::127.0.0.1".to_owned(), false),
    ];
    for (host, local) in rows {
        assert_eq!(host_is_local(&host), local, "{host}");
        assert_eq!(host_is_local(&format!("[{}]", host.to_uppercase())), local, "[{host}]");
    }
}

#[test]
fn zone_of_an_address_is_ignored() {
    for host in ["fe80::1%eth0", "[fe80::1%25eth0]", "[FE80::1%ETH0]", "::1%lo", "[::1]"] {
        assert!(host_is_local(host), "{host}");
    }
    assert!(!host_is_local("2001:db8::1%eth0"));
}

#[test]
fn text_that_is_not_an_address_is_a_name() {
    for host in
        ["127.1", "0x7f.0.0.1", "127.0.0.01", "127.0.0.256", "[::1", "::1]", "[127.0.0.1]", "%"]
    {
        assert!(!host_is_local(host), "{host}");
    }
}

#[test]
fn local_host_is_local_for_every_provider() {
    for provider in ProviderFamily::ALL {
        assert_eq!(of(Some("localhost"), *provider), Locality::Local, "{provider}");
    }
}

#[test]
fn provider_decides_for_other_hosts() {
    let rows = [
        (ProviderFamily::Local, Locality::Local),
        (ProviderFamily::Aggregator, Locality::Remote),
        (ProviderFamily::Direct, Locality::Remote),
        (ProviderFamily::Custom, Locality::Unknown),
        (ProviderFamily::Unknown, Locality::Unknown),
    ];
    for (provider, locality) in rows {
        for host in [None, Some(""), Some("api.example.com"), Some("8.8.8.8")] {
            assert_eq!(of(host, provider), locality, "{host:?} {provider}");
        }
    }
}
