//! Roots: servers learn the workspace only if their entry allows it.

use std::fs;

use agent_test_support::mcp::{everything_stdio, filesystem_stdio};
use serde_json::json;

use super::{REQUIRED, Setup, call, launched, say};

const ROOTS: &str = "    roots: true\n";

#[test]
fn a_server_gets_the_workspace_root_if_configured() {
    for (more, is_told) in [("", false), (ROOTS, true)] {
        let setup = Setup::with_servers(&launched(
            "all",
            &everything_stdio(),
            &format!("{REQUIRED}{more}"),
        ));
        setup.script(vec![call("mcp__all__get_roots_list", &json!({})), say("Done.")]);
        assert_eq!(setup.run(&["Go"]).code, 0);
        let told = &setup.told()[0];
        let work = fs::canonicalize(setup.fixture.agent.work()).unwrap();
        let uri = format!("file://{}", work.display());
        // Without roots, the server does not have this tool.
        assert_eq!(told.contains(&uri), is_told, "{more} {told}");
        assert_eq!(told.contains("unknown tool"), !is_told, "{more} {told}");
    }
}

#[test]
fn a_file_server_uses_the_workspace_root() {
    let folder = tempfile::tempdir().unwrap();
    let server = filesystem_stdio(folder.path());
    for (more, is_workspace) in [("", false), (ROOTS, true)] {
        let setup = Setup::with_servers(&launched("files", &server, &format!("{REQUIRED}{more}")));
        setup.script(vec![call("mcp__files__list_allowed_directories", &json!({})), say("Done.")]);
        assert_eq!(setup.run(&["Go"]).code, 0);
        let told = &setup.told()[0];
        let work = setup.fixture.agent.work().display().to_string();
        assert_eq!(told.contains(&work), is_workspace, "{told}");
        assert_eq!(told.contains(&folder.path().display().to_string()), !is_workspace, "{told}");
    }
}
