//! The lines of docs/member-commands.md, pasted against `agent up`.

use std::process::Command;

use agent_test_support::wait::eventually;

use crate::gateway::up::Machine;

#[test]
fn every_line_of_the_page_works_when_it_is_pasted() {
    let machine = Machine::new();
    let served = machine.start();
    let page = include_str!("../../../../../docs/member-commands.md");
    let blocks = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_agent")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let paths = [program.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).unwrap();
    let run = |lines: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-ec", lines]).current_dir(machine.folder()).env_clear().env("PATH", &path);
        shell.env("AGENT_HOME", machine.home());
        shell.env("AGENT_BASE_URL", format!("http://{}/v1", served.address));
        shell.output().unwrap()
    };
    eventually("the documents are read", || {
        run("agent search documents --json").stdout.windows(7).any(|seven| seven == b"Welcome")
    });
    let mut count = 0;
    for lines in blocks {
        let output = run(lines);
        assert!(output.status.success(), "{lines}: {output:?}");
        count += 1;
    }
    assert!(count >= 6, "{count}");
}
