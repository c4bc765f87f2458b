//! Tests of `dependencies`.

use super::*;

const TEXT: &str = "[licenses]\nallow = [\"MIT\", \"ISC\", \"Apache-2.0 WITH LLVM-exception\"]\n\
                        [bans]\nskip = [\"old\", { crate = \"twice@0.1\", reason = \"r\" }]\n";

#[test]
fn a_licence_expression_needs_one_of_an_or_and_all_of_an_and() {
    let policy = Policy::parse(TEXT).unwrap();
    for allowed in
        ["MIT", "GPL-3.0 OR MIT", "GPL/MIT", "MIT AND ISC", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(policy.allows(allowed), "{allowed}");
    }
    assert!(policy.allows("(GPL-3.0 OR MIT) AND (ISC)"));
    for other in ["", "none", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT MIT"] {
        assert!(!policy.allows(other), "{other}");
    }
}

#[test]
fn unknown_licences_and_duplicates_are_found() {
    let package = |name: &str, version: &str, licence: &str| {
        format!(
            r#"{{"name":"{name}","version":"{version}","id":"{name}{version}","dependencies":[],
                "license":"{licence}","targets":[],"features":{{}},"edition":"2024",
                "manifest_path":"/w/{name}/Cargo.toml"}}"#
        )
    };
    let packages = [
        package("good", "1.0.0", "MIT"),
        package("bad", "1.0.0", "GPL-3.0"),
        package("good", "2.0.0", "MIT"),
        package("twice", "0.1.0", "MIT"),
        package("twice", "0.2.0", "MIT"),
        package("unused", "0.2.0", "GPL-3.0"),
    ];
    let used = ["good1.0.0", "good2.0.0", "bad1.0.0", "twice0.1.0", "twice0.2.0"];
    let nodes = used.map(|id| format!(r#"{{"id":"{id}","dependencies":[],"deps":[]}}"#));
    let text = format!(
        r#"{{"packages":[{}],"workspace_members":[],"target_directory":"/t","workspace_root":"/w",
            "version":1,"resolve":{{"root":null,"nodes":[{}]}}}}"#,
        packages.join(","),
        nodes.join(",")
    );
    let metadata = cargo_metadata::MetadataCommand::parse(text).unwrap();
    assert_eq!(
        Policy::parse(TEXT).unwrap().check(&metadata),
        [
            "`bad` has the licence `GPL-3.0`",
            "`good` is there in several versions: 1.0.0, 2.0.0",
            "`old` is there in one version; remove it from `skip`",
        ]
    );
}
