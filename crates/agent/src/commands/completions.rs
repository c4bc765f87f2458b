//! `agent completions`: completions for a shell.

use clap_complete::Shell;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Print completions for your shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  agent completions bash > ~/.local/share/bash-completion/completions/agent\n  \
                        agent completions zsh > ~/.zfunc/_agent"
)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(
    args: &Args,
    session: &Session,
    mut program: clap::Command,
) -> Result<(), Diagnostic> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "agent", &mut script);
    if session.output.is_json() {
        let script = String::from_utf8_lossy(&script);
        let shell = args.shell.to_string();
        return session.output.json(&serde_json::json!({ "shell": shell, "script": script }));
    }
    session.output.bytes(&script)
}
