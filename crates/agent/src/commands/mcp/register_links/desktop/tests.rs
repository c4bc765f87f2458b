//! Tests of `desktop`.

use super::*;

#[test]
fn paths_are_quoted_where_needed() {
    for (path, written) in [
        ("/usr/bin/agent", "/usr/bin/agent"),
        ("/a b/agent", "\"/a b/agent\""),
        ("/100%/agent", "/100%%/agent"),
        ("/a b%u/agent", "\"/a b%%u/agent\""),
        ("/a$b`c\"d", "\"/a\\\\$b\\\\`c\\\\\"d\""),
        ("/a\\b", "\"/a\\\\\\\\b\""),
        ("/it's", "\"/it's\""),
        ("/größe", "/größe"),
    ] {
        assert_eq!(argument(path), written);
    }
}

#[test]
fn only_our_default_handler_entry_is_removed() {
    let ours = "x-scheme-handler/agent=agent-mcp-link.desktop";
    let others = "[Default Applications]\ntext/html=a.desktop;\n";
    for end in ["", ";", ";\n", "\n"] {
        assert_eq!(without_ours(&format!("{others}{ours}{end}")).as_deref(), Some(others));
    }
    let both = format!("{others}x-scheme-handler/agent=b.desktop;agent-mcp-link.desktop;\n# x");
    let rest = format!("{others}x-scheme-handler/agent=b.desktop;\n# x");
    assert_eq!(without_ours(&both).as_deref(), Some(&*rest));
    for without in ["", others, "x-scheme-handler/agent=b.desktop\n", "x=agent-mcp-link.desktop"] {
        assert_eq!(without_ours(without), None, "{without}");
    }
}

#[test]
fn links_open_with_the_registered_home_and_profile() {
    let exec = |home, profile, is_graphical| {
        let file = file("/bin/agent", home, profile, is_graphical);
        assert!(file.contains(&format!("\nTerminal={}\n", !is_graphical)), "{file}");
        file.lines().find_map(|line| line.strip_prefix("Exec=")).unwrap().to_owned()
    };
    assert_eq!(exec(None, None, true), "/bin/agent dashboard --link %u");
    assert_eq!(exec(None, None, false), "/bin/agent mcp install --wait -- %u");
    let both = exec(Some("/my home/x"), Some("work"), false);
    let expected =
        "env \"AGENT_HOME=/my home/x\" /bin/agent --profile work mcp install --wait -- %u";
    assert_eq!(both, expected);
}

#[test]
fn windows_has_its_own_steps() {
    assert_eq!(steps("linux", "/a", false), None);
    assert_eq!(steps("freebsd", "/a", true), None);
    let windows = steps("windows", "C:\\x\\agent.exe", false).unwrap();
    let line = "/d \"\\\"C:\\x\\agent.exe\\\" mcp install -- \\\"%1\\\"\"\n";
    assert!(windows.ends_with(line), "{windows}");
    assert!(steps("windows", "x", true).unwrap().contains("reg delete"));
}
