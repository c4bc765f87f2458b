//! Tests of `wanted`.

use super::*;

fn wanted(include: &[&str], exclude: &[&str]) -> Wanted {
    let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let domains = Domains { include: of(include), exclude: of(exclude) };
    Wanted { domains, ..Wanted::new("words") }
}

#[test]
fn domain_covers_its_subdomains_only() {
    let wanted = wanted(&["example.com"], &["bad.example.com"]);
    assert!(wanted.allows("example.com") && wanted.allows("a.b.example.com"));
    assert!(!wanted.allows("anexample.com") && !wanted.allows("example.com.evil"));
    assert!(!wanted.allows("bad.example.com") && !wanted.allows("very.bad.example.com"));
}

#[test]
fn domains_become_search_operators() {
    assert_eq!(wanted(&[], &[]).with_sites(), "words");
    assert_eq!(wanted(&["a.b"], &["c.d"]).with_sites(), "words site:a.b -site:c.d");
    let two = wanted(&["a.b", "c.d"], &[]).with_sites();
    assert_eq!(two, "words (site:a.b OR site:c.d)");
}
