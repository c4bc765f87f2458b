//! Nothing private is ever connected to, whatever is asked for.

use std::io::Write;
use std::sync::Arc;

use crate::site::{HOST, Names, PUBLIC, Setup, Site, Trap, elsewhere, ok, plain};

/// Ways to write addresses of this machine and of private networks.
const HOSTS: &[&str] = &[
    // This machine.
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0",
    "0.1",
    "2130706433",
    "2130706434",
    "0x7f000001",
    "0x7F000001",
    "0x7f.1",
    "0x7f.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.1",
    "017700000001",
    "0177.0000.0000.0001",
    "127.0.0.1.",
    "127.0x0.00.1",
    "127.00.00.01",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "①②⑦.⓪.⓪.①",
    "%31%32%37.0.0.1",
    "%31%32%37%2e%30%2e%30%2e%31",
    "127%2E0.0.1",
    "localhost",
    "LOCALHOST",
    "LocalHost.",
    "localhost.localdomain",
    "a.localhost",
    "ⓛocalhost",
    "loc%61lhost",
    "localhost6",
    "ip6-localhost",
    "ip6-loopback",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0001]",
    "[::]",
    "[::0]",
    "[0::0]",
    "[0:0:0:0:0:0:0:0]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    // Mapped, translated and tunnelled.
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::FFFF:7F00:0001]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[::ffff:0.0.0.0]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a00:1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:192.168.1.1]",
    "[::ffff:c0a8:101]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b::c0a8:1]",
    "[64:ff9b:1::127.0.0.1]",
    "[64:ff9b:1::a00:1]",
    "[64:ff9b:1:1::1]",
    "[2002:7f00:1::]",
    "[2002:7f00:0001::1]",
    "[2002:a00:1::]",
    "[2002:c0a8:101::]",
    "[2002:a9fe:a9fe::]",
    "[2001:0:7f00:1::]",
    "[2001::1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2001:db8::1]",
    "[2001:10::1]",
    "[2001:2::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[100::1]",
    // Private networks.
    "10.0.0.1",
    "10.255.255.255",
    "10.1",
    "0x0a000001",
    "012.0.0.1",
    "167772161",
    "172.16.0.1",
    "172.31.255.255",
    "0xac100001",
    "192.168.0.1",
    "192.168.1.1",
    "192.168.1",
    "0xc0a80101",
    "3232235777",
    "0300.0250.1.1",
    "100.64.0.1",
    "100.127.255.254",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.0.1",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.16689662",
    "0xA9.0xFE.0xA9.0xFE",
    "168.63.129.16",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "0xffffffff",
    "4294967295",
    "037777777777",
    "[fc00::1]",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "[fdff:ffff::1]",
    "[fe80::1]",
    "[fe80::a9fe:a9fe]",
    "[febf::1]",
    "[fec0::1]",
    "[feff::1]",
    "[ff00::1]",
    "[ff02::1]",
    "[ff05::2]",
    "[4000::1]",
    "[2606:4700::5efe:7f00:1]",
    "[2606:4700::200:5efe:a00:1]",
    // Names of private networks, and names that lead to them.
    "metadata",
    "metadata.google.internal",
    "metadata.google.internal.",
    "METADATA.google.INTERNAL",
    "instance-data",
    "instance-data.ec2.internal",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "router.lan",
    "nas.local",
    "wiki.intranet",
    "db.corp",
    "printer.home",
    "gateway.home.arpa",
    "consul.service.private",
    "hidden.onion",
    "host.docker.internal",
    "one.attacker.org",
    "two.attacker.org",
    "three.attacker.org",
    "four.attacker.org",
    "five.attacker.org",
    "six.attacker.org",
    "seven.attacker.org",
    "eight.attacker.org",
    "NINE.attacker.org.",
    "ten.attacker.org",
    "eleven.attacker.org",
    "nobody.attacker.org",
];

/// Addresses that are wrong in themselves, with `PORT` in the place of the port.
const WHOLE: &[&str] = &[
    "http://user@127.0.0.1:PORT/",
    "http://user:pw@127.0.0.1:PORT/",
    "http://@127.0.0.1:PORT/",
    "http://good.org@127.0.0.1:PORT/",
    "http://good.org:80@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT@good.org@127.0.0.1:PORT/",
    "http://good.org%40127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@good.org/",
    "http:\\\\127.0.0.1:PORT/",
    "http:/\\127.0.0.1:PORT",
    "http:127.0.0.1:PORT",
    "http:/127.0.0.1:PORT",
    "http:///127.0.0.1:PORT",
    "http:////127.0.0.1:PORT",
    " http://127.0.0.1:PORT/ ",
    "\thttp://127.0.0.1:PORT/\n",
    "ht\ttp://127.0.0.1:PORT/",
    "http://127.0.0.1\t:PORT/",
    "http://127.0.0.1:PORT/\u{0}",
    "http://127.0.0.1\u{0}.good.org:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "hTTps://127.0.0.1:PORT/",
    "https://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT#@good.org/",
    "http://127.0.0.1:PORT?@good.org/",
    "http://127.0.0.1:PORT;good.org/",
    "http://127.0.0.1:00PORT/",
    "http://[::1]:PORT",
    "http://[::1%25lo]:PORT/",
    "http://[::1%lo]:PORT/",
    "http://[v1.::1]:PORT/",
    "http://[127.0.0.1]:PORT/",
    "http://[::ffff:127.0.0.1%25eth0]:PORT/",
    "ftp://127.0.0.1:PORT/",
    "file:///etc/passwd",
    "file://127.0.0.1:PORT/etc/passwd",
    "gopher://127.0.0.1:PORT/_x",
    "dict://127.0.0.1:PORT/info",
    "ldap://127.0.0.1:PORT/",
    "ws://127.0.0.1:PORT/",
    "jar:http://127.0.0.1:PORT/!/",
    "view-source:http://127.0.0.1:PORT/",
    "blob:http://127.0.0.1:PORT/x",
    "data:text/html,x",
    "javascript:fetch('http://127.0.0.1:PORT')",
    "unix:/var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "//127.0.0.1:PORT/",
    "127.0.0.1:PORT",
    "localhost:PORT/",
    "http://127.0.0.1 :PORT/",
    "http://127.0.0.1:PORT:80/",
    "http://::1:PORT/",
    "http://0x7f000001.:PORT/",
    "http://127.0.0.1.good.org.:PORT/",
    "http://127.0.0.1:65536/",
    "http://127.0.0.1:0/",
    "http://",
    "http://:PORT/",
    "http://.:PORT/",
    "http://..:PORT/",
    "http://%00:PORT/",
    "http://127.0.0.1%00:PORT/",
    "http://127.0.0.1%0d%0aHost:good.org:PORT/",
    "http://local\u{ad}host:PORT/",
    "http://l\u{200b}ocalhost:PORT/",
];

/// What attackers let their names lead to.
fn names() -> Arc<Names> {
    Names::new(&[
        (HOST, &[&[PUBLIC]]),
        ("one.attacker.org", &[&["127.0.0.1"]]),
        ("two.attacker.org", &[&["::1"]]),
        ("three.attacker.org", &[&["::ffff:127.0.0.1"]]),
        ("four.attacker.org", &[&["93.184.216.34", "127.0.0.1"]]),
        ("five.attacker.org", &[&["127.0.0.1", "93.184.216.34"]]),
        ("six.attacker.org", &[&["64:ff9b::7f00:1"]]),
        ("seven.attacker.org", &[&["2002:7f00:1::"]]),
        ("eight.attacker.org", &[&["0.0.0.0"]]),
        ("nine.attacker.org", &[&["169.254.169.254"]]),
        ("ten.attacker.org", &[&["fd00:ec2::254", "2606:4700::1"]]),
        ("eleven.attacker.org", &[&[]]),
        ("localhost", &[&["127.0.0.1"]]),
        ("127.0.0.1.good.org", &[&["127.0.0.1"]]),
    ])
}

fn hostile(port: u16) -> Vec<String> {
    let hosts = HOSTS.iter().map(|host| format!("http://{host}:{port}/"));
    let whole = WHOLE.iter().map(|url| url.replace("PORT", &port.to_string()));
    hosts.chain(whole).collect()
}

#[test]
fn no_hostile_address_reaches_a_private_listener() {
    let trap = Trap::set();
    let urls = hostile(trap.port);
    assert!(urls.len() >= 200, "{}", urls.len());
    // The port is not what protects it.
    let setup = Setup::with("[]", &format!("  ports: [80, 443, {}]\n", trap.port), names());
    for url in &urls {
        let answer = setup.fetch(url);
        let (status, code) = answer.failure();
        let is_refusal =
            matches!((status, code.as_str()), (400, "invalid_request") | (403, "target_refused"));
        assert!(is_refusal, "{url:?}: {} {}", status, answer.text());
        assert_eq!(trap.caught(), 0, "{url:?}");
    }
    assert_eq!(setup.paid(), 0);
    // It would have been caught: the same with the guard down.
    let open =
        Setup::with("[\"0.0.0.0/0\", \"::/0\"]", &format!("  ports: [{}]\n", trap.port), names());
    open.fetch(&format!("http://127.0.0.1:{}/", trap.port)).good();
    assert_eq!(trap.caught(), 2, "robots.txt and the page");
    open.fetch(&format!("http://[::1]:{}/", trap.port)).good();
    assert_eq!(trap.caught(), 4);
}

#[test]
fn no_redirect_leads_to_a_private_listener() {
    let trap = Trap::set();
    let urls: Vec<String> = hostile(trap.port)
        .into_iter()
        // What is no single line cannot stand in a header, and what begins no address is a path.
        .filter(|url| !url.chars().any(char::is_control) && url.trim().contains("//"))
        .collect();
    let targets = urls.clone();
    let site = Site::start(move |asked, stream| {
        let index: Option<usize> =
            asked.path.strip_prefix("/to/").and_then(|index| index.parse().ok());
        match index.and_then(|index| targets.get(index)) {
            Some(target) => stream.write_all(&elsewhere(target)),
            None => stream.write_all(&plain(404, "")),
        }
    });
    let allowed = format!("[\"{HOST}:{}\"]", site.address.port());
    let setup = Setup::with(&allowed, &format!("  ports: [80, 443, {}]\n", trap.port), names());
    assert!(urls.len() >= 200, "{}", urls.len());
    for (index, url) in urls.iter().enumerate() {
        let answer = setup.fetch(&site.url(&format!("/to/{index}")));
        assert_eq!(
            answer.failure(),
            (403, "target_refused".to_owned()),
            "{url:?} {}",
            answer.text()
        );
        assert_eq!(trap.caught(), 0, "{url:?}");
    }
    assert_eq!(setup.paid(), 0);
}

#[test]
fn rebound_name_is_checked_for_each_request() {
    let site = Site::of(&[("/a", "text/plain", "public words")]);
    let trap = private_listener(site.address.port());
    // Public for robots.txt and the first page, then private.
    let names = Names::new(&[(
        "rebind.org",
        &[&[PUBLIC], &[PUBLIC], &["127.0.0.1"], &[PUBLIC], &["127.0.0.1"]],
    )]);
    let allowed = format!("[\"{PUBLIC}:{}\"]", site.address.port());
    let setup = Setup::with(&allowed, "  cache_bytes: 0\n", names.clone());
    let url = format!("http://rebind.org:{}/a", site.address.port());
    assert_eq!(setup.fetch(&url).good()["content"], "public words");
    assert_eq!(names.asked(), 2, "once for each connection, and never after it was judged");
    assert_eq!(setup.fetch(&url).failure(), (403, "target_refused".to_owned()));
    assert_eq!(setup.fetch(&url).good()["content"], "public words");
    assert_eq!(setup.fetch(&url).failure(), (403, "target_refused".to_owned()));
    assert_eq!(names.asked(), 5);
    assert_eq!(trap.caught(), 0);
}

/// A trap at this port of 127.0.0.1.
fn private_listener(port: u16) -> Trap {
    Trap::at(&format!("127.0.0.1:{port}"))
}

#[test]
fn a_robots_redirect_to_a_private_listener_is_not_followed() {
    let trap = Trap::set();
    let port = trap.port;
    let site = Site::start(move |asked, stream| match asked.path.as_str() {
        "/robots.txt" => {
            stream.write_all(&elsewhere(&format!("http://127.0.0.1:{port}/robots.txt")))
        }
        _ => stream.write_all(&ok("text/plain", b"words")),
    });
    let allowed = format!("[\"{HOST}:{}\"]", site.address.port());
    let setup = Setup::with(&allowed, &format!("  ports: [80, 443, {port}]\n"), names());
    assert_eq!(setup.fetch(&site.url("/a")).good()["content"], "words");
    assert_eq!(trap.caught(), 0);
}

#[test]
fn unknown_and_private_names_get_the_same_error() {
    let setup = Setup::with("[]", "", names());
    let told = |host: &str| {
        let (status, code, message) = setup.failed(&format!("http://{host}/"));
        (status, code, message.replace(host, "HOST"))
    };
    let missing = told("nobody.attacker.org");
    assert_eq!(missing.2, "`HOST` has no public address that may be fetched");
    for host in
        ["one.attacker.org", "four.attacker.org", "nine.attacker.org", "10.0.0.1", "localhost"]
    {
        assert_eq!(told(host), missing, "{host}");
    }
    let (status, code, message) = setup.failed("http://one.attacker.org:8080/");
    assert_eq!((status, code.as_str()), (403, "target_refused"));
    assert_eq!(message, "fetching from port 8080 is not allowed");
}

#[test]
fn cached_page_is_checked_by_the_guard() {
    let site = Site::of(&[("/a", "text/plain", "words")]);
    let setup = Setup::new(&site, "");
    setup.fetch(&site.url("/a")).good();
    let other = site.url("/a").replace(HOST, PUBLIC);
    assert_eq!(setup.fetch(&other).failure(), (403, "target_refused".to_owned()));
}
