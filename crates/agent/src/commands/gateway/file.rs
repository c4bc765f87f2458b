//! Search and reading of `gateway.yaml`.

use std::path::{Path, PathBuf};

use gateway::ConfigFile;
use gateway::config::{Config, read};
use settings::{Problem, Scope};

use crate::config;
use crate::diagnostic::{Diagnostic, Result};
use crate::mcp::{problem_line, scope};
use crate::session::Session;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Location {
    /// Configuration file [default: gateway/gateway.yaml in the profile's home]
    #[arg(
        long,
        value_name = "FILE",
        env = "AGENT_GATEWAY_CONFIG",
        hide_env_values = true,
        global = true
    )]
    config: Option<PathBuf>,
}

impl Location {
    pub(crate) fn path(&self, session: &Session) -> Result<PathBuf> {
        match self.config.as_ref().filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => Ok(path.clone()),
            None => Ok(session.home()?.gateway().join("gateway.yaml")),
        }
    }

    /// Reads the file without reporting its problems.
    pub(crate) fn read(&self, session: &Session) -> Result<ConfigFile> {
        let path = self.path(session)?;
        let Some(text) = config::read(&path)? else {
            let message = format!("service configuration not found: {}", path.display());
            return Err(Diagnostic::configuration(message)
                .hint("print an example with `agent gateway example`")
                .hint("create one and start the service with `agent up`"));
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        let folder = path.parent().unwrap_or(Path::new("/"));
        // A file named by option needs no home; its variables are those of the process.
        let scope = match session.home() {
            Ok(home) => scope(session, &home)?,
            Err(_) => Scope {
                process: session.environment.all.clone(),
                workspace: folder.to_owned(),
                ..Scope::default()
            },
        };
        let reading = read(&text, &scope, folder);
        Ok(ConfigFile { path, reading })
    }

    /// Reads the file again for a reload. `adjust` applies the options of the command line.
    pub(crate) fn source<A: Fn(&mut Config) + Send + Sync + 'static>(
        &self,
        session: &Session,
        adjust: A,
    ) -> impl Fn() -> Result<ConfigFile, gateway::Problem> + Send + Sync + use<A> {
        let (location, session) = (self.clone(), session.clone());
        move || {
            let unreadable = |diagnostic: Diagnostic| gateway::Problem::new(diagnostic.line());
            let mut file = location.read(&session).map_err(unreadable)?;
            file.reading.config.as_mut().map(&adjust);
            Ok(file)
        }
    }

    /// Reads the file and prints its warnings.
    pub(crate) fn load(&self, session: &Session) -> Result<Config> {
        let file = self.read(session)?;
        for line in problem_lines(&file, |problem| !problem.is_error()) {
            session.output.warn(line);
        }
        let errors: Vec<String> = problem_lines(&file, Problem::is_error).collect();
        file.reading.config.ok_or_else(|| {
            let message = format!("{} is invalid", file.path.display());
            Diagnostic::configuration(message).causes(errors)
        })
    }
}

/// Problems in file order, each on a line that editors can jump to.
pub(super) fn problem_lines(
    file: &ConfigFile,
    is_listed: impl Fn(&Problem) -> bool,
) -> impl Iterator<Item = String> {
    let problems = file.reading.problems.iter().filter(move |problem| is_listed(problem));
    problems.map(|problem| problem_line(&file.path, problem))
}

/// All problems that prevent the start of the service, as one error.
pub(crate) fn problems(message: &str, problems: &[gateway::Problem]) -> Diagnostic {
    let mut hints: Vec<String> = problems.iter().filter_map(|it| it.hint.clone()).collect();
    hints.dedup();
    Diagnostic::configuration(message)
        .causes(problems.iter().map(|problem| problem.message.clone()))
        .hints(hints)
}

impl From<gateway::Problem> for Diagnostic {
    fn from(problem: gateway::Problem) -> Self {
        Diagnostic::configuration(problem.message).hints(problem.hint)
    }
}
