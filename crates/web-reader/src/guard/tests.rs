//! Tests of `guard`.

use super::*;

#[derive(Debug)]
struct ResolvesTo(Vec<IpAddr>);

impl Resolve for ResolvesTo {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

#[derive(Debug)]
struct ResolutionFails(&'static str);

impl Resolve for ResolutionFails {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(async { Err(io::Error::other(self.0)) })
    }
}

fn guard(allowed: &[AllowedPrivate]) -> Guard {
    Guard { ports: vec![80, 443], allowed: allowed.to_vec() }
}

fn host(name: &str, port: Option<u16>) -> AllowedPrivate {
    AllowedPrivate { place: PrivatePlace::Host(name.to_owned()), port }
}

async fn ask(guard: &Guard, url: &str, found: &[&str]) -> Result<Vec<SocketAddr>, Fault> {
    let found = found.iter().map(|text| text.parse().unwrap()).collect();
    let resolver: Arc<dyn Resolve> = Arc::new(ResolvesTo(found));
    guard.addresses(&Target::parse(url).unwrap(), &resolver).await
}

fn not_public(host: &str) -> Fault {
    Fault::NotPublic(host.to_owned())
}

#[tokio::test]
async fn one_private_address_rejects_a_host() {
    let guard = guard(&[]);
    let good = ask(&guard, "https://a.com/", &["8.8.8.8", "2606:4700::1"]).await.unwrap();
    assert_eq!(good, ["8.8.8.8:443".parse().unwrap(), "[2606:4700::1]:443".parse().unwrap()]);
    for bad in ["10.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::"] {
        for found in [vec![bad], vec!["8.8.8.8", bad], vec![bad, "8.8.8.8"]] {
            assert_eq!(ask(&guard, "http://a.com/", &found).await, Err(not_public("a.com")));
        }
    }
}

#[tokio::test]
async fn an_unknown_name_gets_the_same_error_as_a_private_one() {
    let guard = guard(&[]);
    let private = ask(&guard, "http://a.com/", &["10.0.0.1"]).await;
    assert_eq!(ask(&guard, "http://a.com/", &[]).await, private);
    let many = vec!["8.8.8.8"; MAX_ADDRESSES + 1];
    assert_eq!(ask(&guard, "http://a.com/", &many).await, private);
    let target = Target::parse("http://a.com/").unwrap();
    let missing: Arc<dyn Resolve> = Arc::new(ResolutionFails("Name or service not known"));
    assert_eq!(guard.addresses(&target, &missing).await, private);
    let down: Arc<dyn Resolve> = Arc::new(ResolutionFails("Temporary failure in name resolution"));
    let fault = guard.addresses(&target, &down).await;
    assert_eq!(fault, Err(Fault::Unreachable("cannot resolve the host")));
}

#[tokio::test]
async fn private_hosts_are_allowed_only_at_their_ports() {
    let net = PrivatePlace::Net("10.1.0.0".parse().unwrap(), 16);
    let guard = guard(&[
        host("wiki.internal", None),
        AllowedPrivate { place: net, port: Some(8080) },
        host("tool.internal", Some(9000)),
    ]);
    for (url, found, is_good) in [
        ("http://wiki.internal/", "10.0.0.1", true),
        ("https://wiki.internal/", "10.0.0.1", true),
        ("http://wiki.internal:8081/", "10.0.0.1", false),
        ("http://wiki.internal:8080/", "10.0.0.1", false),
        ("http://a.wiki.internal/", "10.0.0.1", false),
        ("http://a.com:8080/", "10.1.2.3", true),
        ("http://10.1.2.3:8080/", "10.1.2.3", true),
        ("http://a.com/", "10.1.2.3", false),
        ("http://a.com:8080/", "10.2.0.1", false),
        ("http://a.com:8080/", "8.8.8.8", false),
        ("http://tool.internal:9000/", "127.0.0.1", true),
        ("http://tool.internal/", "127.0.0.1", false),
    ] {
        assert_eq!(ask(&guard, url, &[found]).await.is_ok(), is_good, "{url} {found}");
    }
}

#[tokio::test]
async fn other_ports_are_rejected_without_resolution() {
    let guard = guard(&[]);
    for port in [22, 25, 8080, 6379] {
        let url = format!("http://a.com:{port}/");
        assert_eq!(ask(&guard, &url, &["8.8.8.8"]).await, Err(Fault::Port(port)));
    }
}

#[test]
fn public_addresses_are_accepted() {
    for text in [
        "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
        "192.88.98.255", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "203.0.112.255", "203.0.114.0", "223.255.255.255", "168.63.129.15", "2606:4700:4700::1111",
        "2a00:1450:4001::200e", "2001:200::1", "2001:4860:4860::8888", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8", "2606:4700::5efe:808:808", "2606:4700::0200:5efe:808:808",
    ] {
        assert!(is_global(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn reserved_ranges_are_rejected_to_their_bounds() {
    for text in [
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "100.100.100.200",
        "127.0.0.0",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "169.254.0.0",
        "169.254.169.254",
        "169.254.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.0",
        "192.0.0.255",
        "192.0.2.0",
        "192.0.2.255",
        "192.88.99.0",
        "192.88.99.255",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.0",
        "198.51.100.255",
        "203.0.113.0",
        "203.0.113.255",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::8.8.8.8",
        "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
        "100::1",
        "2001::",
        "2001:0:4136:e378::1",
        "2001:2::1",
        "2001:10::1",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "2002::",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff::",
        "3fff:fff:ffff::1",
        "5f00::1",
        "4000::1",
        "8000::1",
        "fc00::",
        "fd00:ec2::254",
        "fdff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "feff::1",
        "ff00::",
        "ff02::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2606:4700::5efe:a00:1",
        "2606:4700::0200:5efe:7f00:1",
    ] {
        assert!(!is_global(text.parse().unwrap()), "{text}");
    }
}
