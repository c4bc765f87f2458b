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
