//! Tests of `robots`.

use super::*;

fn forbidding(text: &str, path: &str) -> Option<String> {
    Rules::parse(text, "agent-gateway").forbidding(path)
}

#[test]
fn the_longest_rule_decides() {
    let text = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n";
    assert_eq!(forbidding(text, "/"), None);
    assert_eq!(forbidding(text, "/a").as_deref(), Some("Disallow: /a"));
    assert_eq!(forbidding(text, "/a/b"), None);
    assert_eq!(forbidding(text, "/a/b/c/d").as_deref(), Some("Disallow: /a/b/c"));
    assert_eq!(forbidding("User-agent: *\nDisallow: /x\nAllow: /x", "/x"), None);
    assert_eq!(forbidding("User-agent: *\nDisallow: /", "/robots.txt"), None);
}

#[test]
fn the_group_of_our_user_agent_replaces_the_general_one() {
    let text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: Agent-Gateway/2\n\
                    Disallow: /private # ours\n\nUser-agent: third\nDisallow: /c\n";
    assert_eq!(forbidding(text, "/page"), None);
    assert_eq!(forbidding(text, "/c"), None);
    assert!(forbidding(text, "/private/x").is_some());
    assert_eq!(
        forbidding("User-agent: agent-gateway\nDisallow:\n\nUser-agent: *\nDisallow: /", "/x"),
        None
    );
    let split = "User-agent: agent-gateway\nDisallow: /a\nUser-agent: x\nDisallow: /b\n\
                     User-agent: agent-gateway\nDisallow: /c";
    assert!(forbidding(split, "/a").is_some() && forbidding(split, "/c").is_some());
    assert_eq!(forbidding(split, "/b"), None);
    assert_eq!(forbidding("User-agent: agent\nDisallow: /", "/x"), None);
}

#[test]
fn wildcards_and_end_anchors_are_supported() {
    for (pattern, path, expected) in [
        ("/*.pdf$", "/a/b.pdf", true),
        ("/*.pdf$", "/a/b.pdf?x", false),
        ("/*.pdf", "/a/b.pdf?x", true),
        ("/a*b*c", "/a-b-c-d", true),
        ("/a*b*c$", "/a-b-c-d", false),
        ("/a*b*c$", "/a-b-c-c", true),
        ("/$", "/", true),
        ("/$", "/a", false),
        ("*", "/anything", true),
        ("*?q=", "/a?q=1", true),
        ("/%7ea", "/~a/b", true),
        ("/caf%c3%a9", "/caf%C3%A9", true),
        ("/café", "/caf%C3%A9", true),
        ("/A", "/a", false),
    ] {
        let text = format!("User-agent: *\nDisallow: {pattern}");
        assert_eq!(forbidding(&text, path).is_some(), expected, "{pattern} {path}");
    }
}

#[test]
fn a_pattern_with_many_stars_is_matched_quickly() {
    let pattern = format!("/{}b", "*a".repeat(2000));
    assert!(!matches(&pattern, &format!("/{}", "a".repeat(4000))));
}

#[test]
fn rules_and_cached_sites_are_bounded() {
    let text = format!("User-agent: *\n{}Disallow: /last\n", "Disallow: /x\n".repeat(MAX_RULES));
    assert_eq!(forbidding(&text, "/last"), None);
    let (cache, rules) = (rules_cache(), Arc::new(Rules::default()));
    for number in 0..=MAX_SITES {
        cache.insert(format!("http://{number}"), rules.clone(), 0);
    }
    assert!(
        cache.get(&"http://0".to_owned()).is_none() && cache.get(&"http://1".to_owned()).is_some()
    );
}
