//! The folder of a profile: `AGENT_HOME`, else `~/.agent`; profiles are below it.

use std::io;
use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Result};
use crate::environment::Environment;

const MAX_PROFILE_BYTES: usize = 64;

/// The folder of one profile. It is created on first use.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Home {
    pub(crate) fn find(environment: &Environment, profile: Option<&str>) -> Result<Home> {
        let base = match (&environment.agent_home, &environment.home) {
            (Some(path), _) => path.clone(),
            (None, Some(home)) => home.join(".agent"),
            (None, None) => {
                return Err(Diagnostic::configuration("no home folder found")
                    .hint("set AGENT_HOME to a folder you own"));
            }
        };
        let root = match profile.filter(|name| !name.is_empty()) {
            None => base,
            Some(name) if is_profile_name(name) => base.join("profiles").join(name),
            Some(name) => {
                return Err(Diagnostic::usage(format!("invalid profile name `{name}`"))
                    .hint("use letters, digits, `-` and `_`"));
            }
        };
        Ok(Home { root })
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("config.yaml")
    }

    pub(crate) fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    pub(crate) fn mcp_tokens(&self) -> PathBuf {
        self.root.join("mcp-tokens")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Remembered approvals of tool calls.
    pub(crate) fn approvals(&self) -> PathBuf {
        self.root.join("approvals.json")
    }

    /// Remembered approvals of project files.
    pub(crate) fn project_approvals(&self) -> PathBuf {
        self.root.join("project-approvals.json")
    }

    /// The tasks that servers run.
    pub(crate) fn mcp_tasks(&self) -> PathBuf {
        self.root.join("mcp-tasks.json")
    }

    /// The socket by which later commands pass links to the running dashboard.
    pub(crate) fn dashboard_socket(&self) -> PathBuf {
        self.root.join("dashboard.sock")
    }

    pub(crate) fn chat(&self) -> PathBuf {
        self.root.join("chat")
    }

    pub(crate) fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    #[cfg(feature = "local-model")]
    pub(crate) fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// The member service: its configuration and default database.
    pub(crate) fn gateway(&self) -> PathBuf {
        self.root.join("gateway")
    }

    pub(crate) fn metrics(&self) -> PathBuf {
        self.root.join("metrics")
    }
}

pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Why a file of the home folder is not writable, and the fix.
pub(crate) fn unwritable(diagnostic: Diagnostic, error: &io::Error) -> Diagnostic {
    diagnostic.because(error).hint(write_hint(error))
}

pub(crate) fn write_hint(error: &io::Error) -> &'static str {
    if is_full(error) {
        "free up disk space, then try again"
    } else {
        "choose a folder you can write to with AGENT_HOME"
    }
}

fn is_profile_name(name: &str) -> bool {
    name.len() <= MAX_PROFILE_BYTES
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
