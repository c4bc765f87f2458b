//! What the pages look like, and that everybody can use them.

use super::*;

const PAGES: &[&str] = &[
    "/", "/chats", "/servers", "/servers-add", "/servers/files", "/servers/files/edit",
    "/servers/all/tools", "/servers/all/tools/get-sum", "/sign-ins", "/approvals", "/skills",
    "/models", "/metrics/",
];

/// The pictures of the documentation, which `cargo xtask docs images` keeps: name, look and page.
const PICTURES: [(&str, &str, &str); 3] = [
    ("dashboard", "light", "/servers/all/tools"),
    ("dashboard-dark", "dark", "/servers/all/tools/get-sum"),
    ("dashboard-phone", "phone", "/servers/all/tools"),
];

fn check(dashboard: &Dashboard, browser: &Browser, name: &str) {
    for page in PAGES {
        browser.goto(&format!("{}{page}", dashboard.origin()));
        browser.eventually("the page is complete", "return document.readyState === 'complete'");
        let wide = browser.eval("return document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{name} {page} is {wide} px too wide");
        let found = browser.accessibility_findings();
        assert!(found.is_empty(), "{name} {page}: {found:#?}");
        let foreign = "return performance.getEntriesByType('resource')\
            .filter((it) => !it.name.startsWith(location.origin)).map((it) => it.name)";
        assert_eq!(browser.eval(foreign), serde_json::json!([]), "{name} {page}");
        let picture = PICTURES.iter().find(|(_, look, shown)| *look == name && shown == page);
        if let (Some((file, ..)), Some(folder)) = (picture, std::env::var_os("AGENT_DOCS_IMAGES")) {
            browser.screenshot(&std::path::Path::new(&folder).join(format!("{file}.png")));
        }
    }
}

#[test]
fn pages_are_accessible_light_dark_and_on_a_phone() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    for (name, width, scheme) in [
        ("light", 1280, ColorScheme::Light),
        ("dark", 1280, ColorScheme::Dark),
        ("phone", 360, ColorScheme::Light),
    ] {
        let browser = Browser::start(width, 900, scheme);
        browser.goto(&link(&setup, &[]));
        check(&dashboard, &browser, name);
    }
}

#[test]
fn idle_memory_is_limited() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    // What it uses beyond its own memory is shared with every other run of the program.
    let status = fs::read_to_string(format!("/proc/{}/status", dashboard.program.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 40 * 1024, "{kib} KiB");
}
