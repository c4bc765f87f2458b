//! Tests of `environment`.

use super::*;
use crate::config::Text;

fn ours() -> BTreeMap<String, String> {
    [("PATH", "/usr/bin:/bin"), ("AWS_SECRET_ACCESS_KEY", "x"), ("LC_TIME", "C"), ("Temp", "t")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

#[test]
fn only_safe_and_configured_variables_are_inherited() {
    let mut endpoint = StdioEndpoint::new("sh");
    endpoint.env.push(("TOKEN".to_owned(), Text::resolved("${T}", "secret")));
    endpoint.env.push(("LC_TIME".to_owned(), Text::literal("de_DE")));
    let child = child_environment(&ours(), &endpoint);
    let names: Vec<&str> = child.keys().map(String::as_str).collect();
    assert_eq!(names, ["LC_TIME", "PATH", "TOKEN", "Temp"]);
    assert_eq!((child["TOKEN"].as_str(), child["LC_TIME"].as_str()), ("secret", "de_DE"));
}

#[test]
fn commands_are_resolved_in_the_childs_path() {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    std::fs::copy("/bin/true", &tool).unwrap();
    let mut child = child_environment(&ours(), &StdioEndpoint::new("tool"));
    child.insert("PATH".to_owned(), format!("{}:/bin", folder.path().display()));
    let found = resolve_command(&StdioEndpoint::new("tool"), &mut child, None).unwrap();
    assert_eq!(found, tool);
    assert_eq!(child["PATH"], format!("{}:/bin", folder.path().display()));

    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".local/bin")).unwrap();
    std::fs::copy("/bin/true", home.path().join(".local/bin/other")).unwrap();
    let found =
        resolve_command(&StdioEndpoint::new("other"), &mut child, Some(home.path())).unwrap();
    assert!(child["PATH"].starts_with(&*found.parent().unwrap().to_string_lossy()));
}

#[test]
fn command_lookup_matches_the_actual_start() {
    let found = find_command(&StdioEndpoint::new("sh"), &ours(), None).unwrap();
    assert!(found.ends_with("sh") && found.is_file(), "{}", found.display());
    let mut elsewhere = StdioEndpoint::new("true");
    elsewhere.env.push(("PATH".to_owned(), Text::literal("/no-such-folder")));
    assert!(find_command(&elsewhere, &ours(), None).unwrap().ends_with("true"));
    assert!(find_command(&StdioEndpoint::new("no-such-tool"), &ours(), None).is_err());
}

#[test]
fn a_missing_command_names_the_searched_path() {
    let mut child = child_environment(&ours(), &StdioEndpoint::new("x"));
    let error = resolve_command(&StdioEndpoint::new("no-such-tool"), &mut child, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`no-such-tool` not found; searched PATH /usr/bin:/bin and the standard directories"
    );
    assert!(resolve_command(&StdioEndpoint::new("/etc/passwd"), &mut child, None).is_err());
    assert!(resolve_command(&StdioEndpoint::new("  "), &mut child, None).is_err());
}
