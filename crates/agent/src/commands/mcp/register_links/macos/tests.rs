//! Tests of `macos`: what is written, by a stand-in for the compiler.

use super::*;

/// A compiler that makes the folders of an application and keeps its arguments.
fn compiler(folder: &Path) -> String {
    let program = folder.join("compiler");
    let lines =
        "#!/bin/sh\nmkdir -p \"$2/Contents\"\nprintf '%s\\n' \"$@\" > \"$2/Contents/arguments\"\n";
    // Written by another process: a program still open for writing here would be busy.
    let write = "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", write, "sh", lines]).arg(&program);
    assert!(shell.status().unwrap().success());
    program.to_str().unwrap().to_owned()
}

#[test]
fn an_application_is_made_that_opens_links_in_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("Applications").join(NAME);
    let script = script("/usr/local/bin/agent", None, None);
    // Twice: an update of the program registers again.
    for _ in 0..2 {
        write(&app, &script, &compiler(folder.path())).unwrap();
    }
    let arguments = fs::read_to_string(app.join("Contents/arguments")).unwrap();
    let path = app.display().to_string();
    insta::assert_snapshot!(arguments.replace(&path, "[app]"), @r#"
    -o
    [app]
    -e
    on open location link
    -e
    do shell script "/usr/local/bin/agent dashboard --link=" & quoted form of link & " >/dev/null 2>&1 &"
    -e
    end open location
    "#);
    let info = fs::read_to_string(app.join("Contents/Info.plist")).unwrap();
    assert!(info.starts_with("<?xml version=\"1.0\""), "{info}");
    let scheme = "<key>CFBundleURLSchemes</key><array><string>agent</string></array>";
    assert!(info.contains(scheme) && info.contains("<key>CFBundleURLTypes</key>"), "{info}");
    let opened = info.matches("<dict>").count() + info.matches("<array>").count();
    assert_eq!(opened, info.matches("</dict>").count() + info.matches("</array>").count());
}

#[test]
fn links_open_with_the_registered_home_and_profile() {
    let script = script("/it's \"here\"/agent", Some("/my home"), Some("work"));
    let line = script.lines().nth(1).unwrap();
    assert_eq!(
        line,
        r#"do shell script "AGENT_HOME='/my home' '/it'\\''s \"here\"/agent' --profile work dashboard --link=" & quoted form of link & " >/dev/null 2>&1 &""#
    );
}

#[test]
fn a_compiler_that_fails_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let error = write(&folder.path().join(NAME), "", "false").unwrap_err();
    assert_eq!(error.to_string(), "`false` failed");
}
