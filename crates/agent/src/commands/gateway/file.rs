//! Search and reading of `gateway.yaml`.

use std::path::{Path, PathBuf};

use gateway::ConfigFile;
use gateway::config::{Config, Reading, read};
use settings::{Problem, Scope};

use crate::config;
use crate::diagnostic::Diagnostic;
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

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    reading: Reading,
}

impl Location {
    pub(crate) fn path(&self, session: &Session) -> Result<PathBuf, Diagnostic> {
        match self.config.as_ref().filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => Ok(path.clone()),
            None => Ok(session.home()?.gateway().join("gateway.yaml")),
        }
    }

    /// Reads the file without reporting its problems.
    pub(crate) fn read(&self, session: &Session) -> Result<File, Diagnostic> {
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
        Ok(File { path, reading })
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
            let File { path, mut reading } = location.read(&session).map_err(unreadable)?;
            reading.config.as_mut().map(&adjust);
            Ok(ConfigFile { path, reading })
        }
    }

    /// Reads the file and prints its warnings.
    pub(crate) fn load(&self, session: &Session) -> Result<Config, Diagnostic> {
        self.read(session)?.config(session)
    }
}

impl File {
    /// Problems in file order, each on a line that editors can jump to.
    pub(crate) fn lines<'a>(
        &'a self,
        wanted: impl Fn(&Problem) -> bool + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        let problems = self.reading.problems.iter().filter(move |problem| wanted(problem));
        problems.map(|problem| problem_line(&self.path, problem))
    }

    pub(crate) fn into_config(self) -> Option<Config> {
        self.reading.config
    }

    pub(crate) fn config(self, session: &Session) -> Result<Config, Diagnostic> {
        for line in self.lines(|problem| !problem.is_error()) {
            session.output.warn(line);
        }
        let errors: Vec<String> = self.lines(Problem::is_error).collect();
        self.reading.config.ok_or_else(|| {
            let message = format!("{} is invalid", self.path.display());
            Diagnostic { causes: errors, ..Diagnostic::configuration(message) }
        })
    }
}

/// All problems that prevent the start of the service, as one error.
pub(crate) fn problems(message: &str, problems: &[gateway::Problem]) -> Diagnostic {
    let mut diagnostic = Diagnostic::configuration(message);
    for problem in problems {
        diagnostic.causes.push(problem.message.clone());
        diagnostic.hints.extend(problem.hint.clone());
    }
    diagnostic.hints.dedup();
    diagnostic
}

impl From<gateway::Problem> for Diagnostic {
    fn from(problem: gateway::Problem) -> Self {
        let mut diagnostic = Diagnostic::configuration(problem.message);
        diagnostic.hints.extend(problem.hint);
        diagnostic
    }
}
