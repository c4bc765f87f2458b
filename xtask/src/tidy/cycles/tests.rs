//! Tests of `cycles`.

use super::*;
use crate::tidy::finding::printed;

#[test]
fn imports_in_one_direction_have_no_findings() {
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "mod b;\nmod c;\npub use b::B;\npub use c::C;"),
        ("crates/a/src/b.rs", "use crate::C;\npub struct B(C);"),
        (
            "crates/a/src/c.rs",
            "// use crate::B;\npub struct C;\nfn f() -> impl Fn() + use<> { || 1; }",
        ),
    ]);
    assert_eq!(printed(&check(&tree)), Vec::<String>::new());
}

#[test]
fn circle_is_found_through_reexports_and_paths() {
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "mod b;\nmod c;\npub use {b::B, c::C as D};"),
        ("crates/a/src/b.rs", "use crate::{D, c::C};\npub struct B(D);"),
        ("crates/a/src/c.rs", "pub struct C;\nfn f<'a>() -> char { crate::b::B; '\"' }"),
    ]);
    assert_eq!(
        printed(&check(&tree)),
        ["crates/a/src/b.rs:1: 2 files import each other in a circle\n    \
                 crates/a/src/b.rs -> crates/a/src/c.rs: C\n    \
                 crates/a/src/c.rs -> crates/a/src/b.rs: B"]
    );
}

#[test]
fn modules_may_use_ancestors_and_tests_may_use_everything() {
    let of = |child: &str| {
        let tree = Tree::of(&[
            ("x/src/main.rs", "mod a;\nmod b;"),
            ("x/src/a.rs", "mod child;\nstruct Parent;\nfn f() { child::g() }"),
            ("x/src/a/child.rs", child),
            ("x/src/b.rs", "use crate::a::Parent;\npub struct B(Parent);"),
        ]);
        check(&tree).len()
    };
    assert_eq!(of("use super::Parent;\n"), 0);
    assert_eq!(of("use crate::b::B;\n"), 1);
    assert_eq!(of("fn g() {}\n#[cfg(test)]\nmod tests {\nuse crate::b::B;\n}"), 0);
}
