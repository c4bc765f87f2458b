//! `agent completions`: completions for a shell.

use clap_complete::Shell;

use crate::diagnostic::Result;
use crate::session::Session;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent completions bash > ~/.local/share/bash-completion/completions/agent
  agent completions zsh > ~/.zfunc/_agent")]
pub(crate) struct Args {
    /// Shell
    #[arg(value_name = "bash|elvish|fish|powershell|zsh", hide_possible_values = true)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, session: &Session, program: clap::Command) -> Result {
    // The options of every command are hidden in help texts only.
    let mut program = program.mut_args(|arg| arg.hide(false));
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "agent", &mut script);
    if session.output.is_json() {
        let script = String::from_utf8_lossy(&script);
        let shell = args.shell.to_string();
        return session.output.json(&serde_json::json!({ "shell": shell, "script": script }));
    }
    session.output.bytes(&script)
}
