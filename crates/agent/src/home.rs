//! Where everything is kept: `AGENT_HOME`, else `~/.agent`; a profile has the same shape inside.

use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::environment::Environment;

/// Longest profile name, in bytes.
const MAX_PROFILE_BYTES: usize = 64;

/// The folder of one profile. Nothing is made until a command needs it.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Home {
    /// Finds the home of a profile.
    pub(crate) fn find(
        environment: &Environment,
        profile: Option<&str>,
    ) -> Result<Home, Diagnostic> {
        let base = match (&environment.agent_home, &environment.home) {
            (Some(path), _) => path.clone(),
            (None, Some(home)) => home.join(".agent"),
            (None, None) => {
                return Err(Diagnostic::configuration("there is no home folder")
                    .hint("set AGENT_HOME to a folder of yours"));
            }
        };
        let root = match profile.filter(|name| !name.is_empty()) {
            None => base,
            Some(name) if is_profile_name(name) => base.join("profiles").join(name),
            Some(name) => {
                return Err(Diagnostic::usage(format!("`{name}` cannot be a profile's name"))
                    .hint("use letters, digits, `-` and `_`"));
            }
        };
        Ok(Home { root })
    }

    /// The configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("config.yaml")
    }

    /// The profile's secrets.
    pub(crate) fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    /// What was granted where somebody signed in.
    pub(crate) fn mcp_tokens(&self) -> PathBuf {
        self.root.join("mcp-tokens")
    }

    /// What the servers write to standard error.
    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What can be found out again.
    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// What a person said to calls of tools.
    pub(crate) fn approvals(&self) -> PathBuf {
        self.root.join("approvals.json")
    }

    /// Conversations, and what was typed in them.
    pub(crate) fn chat(&self) -> PathBuf {
        self.root.join("chat")
    }

    /// The skills, and what is kept of their use.
    pub(crate) fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// The files of models.
    #[cfg(feature = "local-model")]
    pub(crate) fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// The member service: its configuration and, unless that says otherwise, its database.
    pub(crate) fn gateway(&self) -> PathBuf {
        self.root.join("gateway")
    }

    /// The metrics.
    pub(crate) fn metrics(&self) -> PathBuf {
        self.root.join("metrics")
    }
}

fn is_profile_name(name: &str) -> bool {
    name.len() <= MAX_PROFILE_BYTES
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
