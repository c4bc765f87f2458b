//! Tests of `files`.

use super::*;

fn paths(system: &str, variables: &[(&str, &str)]) -> String {
    let variables =
        variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let files = possible(system, Some(Path::new("/h")), &variables, Path::new("/w"));
    let paths = files.iter().map(|file| file.path.display().to_string());
    paths.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_platform_has_its_import_paths() {
    insta::assert_snapshot!(paths("linux", &[]), @r"
    /h/.config/Claude/claude_desktop_config.json
    /h/.claude.json
    /h/.cursor/mcp.json
    /h/.config/Code/User/mcp.json
    /h/.config/Code/User/settings.json
    /h/.codex/config.toml
    /h/.hermes/config.yaml
    /h/.config/goose/config.yaml
    /h/.config/zed/settings.json
    /h/.codeium/windsurf/mcp_config.json
    /w/.mcp.json
    /w/.cursor/mcp.json
    /w/.vscode/mcp.json
    /w/.zed/settings.json
    ");
    insta::assert_snapshot!(paths("macos", &[("CODEX_HOME", "/c")]), @r"
    /h/Library/Application Support/Claude/claude_desktop_config.json
    /h/.claude.json
    /h/.cursor/mcp.json
    /h/Library/Application Support/Code/User/mcp.json
    /h/Library/Application Support/Code/User/settings.json
    /c/config.toml
    /h/.hermes/config.yaml
    /h/.config/goose/config.yaml
    /h/.config/zed/settings.json
    /h/.codeium/windsurf/mcp_config.json
    /w/.mcp.json
    /w/.cursor/mcp.json
    /w/.vscode/mcp.json
    /w/.zed/settings.json
    ");
    insta::assert_snapshot!(paths("windows", &[("APPDATA", "/a")]), @r"
    /a/Claude/claude_desktop_config.json
    /h/.claude.json
    /h/.cursor/mcp.json
    /a/Code/User/mcp.json
    /a/Code/User/settings.json
    /h/.codex/config.toml
    /h/.hermes/config.yaml
    /a/Block/goose/config/config.yaml
    /a/Zed/settings.json
    /h/.codeium/windsurf/mcp_config.json
    /w/.mcp.json
    /w/.cursor/mcp.json
    /w/.vscode/mcp.json
    /w/.zed/settings.json
    ");
    let moved = paths("linux", &[("XDG_CONFIG_HOME", "/x")]);
    assert!(moved.starts_with("/x/Claude/claude_desktop_config.json\n"), "{moved}");
}

#[test]
fn no_file_is_listed_twice_in_the_home_folder() {
    let home = Path::new("/h");
    let files = possible("linux", Some(home), &BTreeMap::new(), home);
    let cursor = files.iter().filter(|file| file.kind == Kind::Cursor).count();
    assert_eq!(cursor, 1);
}
