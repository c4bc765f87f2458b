//! The opened database, for the commands of an operator.

use std::ops::Deref;
use std::time::Duration;

use gateway::config::Config;
use gateway::operator::{self, Operator};
use gateway::{KeyHasher, key_secret};
use gateway_store::{
    Actor, DatabaseLocation, Error, ErrorKind, KeyRecord, Member, ProcessReport, Store,
};
use ledger::{AccountKind, MemberId, Windows};
use task_loop::nearest;
use task_loop::untrusted::printable;
use tokio::time::{Instant, sleep};
use wire::key::ApiKey;

use super::file::Location;
use super::moment::now;
use crate::config::private_folder;
use crate::diagnostic::{Diagnostic, Result};
use crate::home::unwritable;
use crate::runtime;
use crate::session::Session;

const KEY_PREFIX: &str = "agk_";
const MAX_MEMBERS_COMPARED: u32 = 1000;
/// Maximum wait for the processes of the service, and the poll interval.
const MAX_WAIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The opened database, with the name for the audit log.
#[derive(Debug)]
pub(crate) struct OperatorStore<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) config: Config,
    pub(crate) store: Store,
    by: Actor,
}

impl<'a> Deref for OperatorStore<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.context
    }
}

/// The session of a command, and the configuration file of the service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) location: &'a Location,
    pub(crate) session: &'a Session,
}

impl Deref for Context<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session
    }
}

impl Context<'_> {
    pub(crate) fn load(self) -> Result<Config> {
        self.location.load(self.session)
    }

    /// Works with the database of the configuration file.
    pub(crate) fn with<T>(
        self,
        work: impl AsyncFnOnce(&OperatorStore<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_config(self.load()?, work)
    }

    /// Works with the database of a loaded configuration.
    pub(crate) fn with_config<T>(
        self,
        config: Config,
        work: impl AsyncFnOnce(&OperatorStore<'_>) -> Result<T>,
    ) -> Result<T> {
        let by = actor(self.session);
        block_on(async {
            let store = gateway::open_store(&config).await?;
            let books = OperatorStore { context: self, config, store, by };
            let done = work(&books).await;
            books.store.close().await;
            done
        })
    }
}

impl OperatorStore<'_> {
    pub(crate) fn operator(&self) -> Operator<'_> {
        Operator { store: &self.store, by: &self.by }
    }

    pub(crate) fn windows(&self) -> Windows {
        self.config.calendar.windows(now(self.session))
    }

    pub(crate) async fn member(&self, word: &str) -> Result<Member> {
        self.account(word, AccountKind::Member).await
    }

    pub(crate) async fn account(&self, word: &str, kind: AccountKind) -> Result<Member> {
        let found = self.find(word).await?;
        if let Some(account) = found.as_ref().filter(|found| found.kind == kind) {
            return Ok(account.clone());
        }
        let noun = kind.as_str();
        let message = format!("unknown {noun} `{}`", printable(word));
        if let Some(other) = found {
            let hint = match other.kind {
                AccountKind::Member => "this is a member; see `agent gateway member`",
                AccountKind::Team => "this is a team; see `agent gateway team`",
                AccountKind::RemovedTeam => "this team was removed",
            };
            return Err(Diagnostic::failed(message).hint(hint));
        }
        let known = match kind {
            AccountKind::Member => self.store.members(MemberId(0), MAX_MEMBERS_COMPARED).await,
            _ => self.store.teams(MemberId(0), MAX_MEMBERS_COMPARED).await,
        };
        let known = known.unwrap_or_default();
        let near = nearest(word, known.iter().map(|account| account.name.as_str()));
        let otherwise = format!("list {noun}s with `agent gateway {noun} list`");
        Err(Diagnostic::failed(message).did_you_mean(near, otherwise))
    }

    async fn find(&self, word: &str) -> Result<Option<Member>> {
        Ok(match MemberId::parse(word) {
            Some(id) => self.store.member(id).await?,
            None => self.store.member_by_name(word).await?,
        })
    }

    /// The member or team with this name or id.
    pub(crate) async fn any_account(&self, word: &str) -> Result<Member> {
        match self.find(word).await? {
            Some(account) => Ok(account),
            None => self.member(word).await,
        }
    }

    /// The processes that serve from the database; fails if there are none.
    pub(crate) async fn processes(&self) -> Result<Vec<ProcessReport>> {
        let all = self.store.processes().await?;
        if all.is_empty() {
            return Err(Diagnostic::failed("no process is serving from this database")
                .hint("start the service with `agent gateway serve` or `agent up`"));
        }
        Ok(all)
    }

    /// The key with this public id, or of a whole key.
    pub(crate) async fn key(&self, word: &str) -> Result<KeyRecord> {
        let id = match ApiKey::parse(word) {
            Some(key) => key.public_id().to_owned(),
            None => word.strip_prefix(KEY_PREFIX).unwrap_or(word).to_owned(),
        };
        let found = self.store.key(&id).await?;
        found.ok_or_else(|| {
            // It may be a mistyped secret: it is not repeated.
            let shown: String = id.chars().take(12).collect();
            Diagnostic::failed(format!("unknown key `{}`", printable(&shown)))
                .hint("list keys with `agent gateway key list`")
        })
    }
}

/// The hasher of the keys in this database; fails if the secret does not match them.
pub(crate) async fn key_hasher(config: &Config, store: &Store) -> Result<KeyHasher> {
    let hasher = key_secret::load(&config.key_secret)?;
    key_secret::check(&hasher, store).await?;
    Ok(hasher)
}

/// Asks again until the answer is complete or the time is over.
pub(crate) async fn wait_for<T>(
    ask: impl AsyncFn() -> Result<T>,
    is_complete: impl Fn(&T) -> bool,
) -> Result<T> {
    let until = Instant::now() + MAX_WAIT;
    loop {
        let answer = ask().await?;
        if is_complete(&answer) || Instant::now() >= until {
            return Ok(answer);
        }
        sleep(POLL_INTERVAL).await;
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime::started()?.block_on(work)
}

pub(crate) fn actor(session: &Session) -> Actor {
    let variables = &session.environment.all;
    let user = variables.get("USER").or_else(|| variables.get("LOGNAME"));
    let user = user.filter(|name| !name.is_empty()).map(|name| printable(name));
    let user = user.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    Actor { name: format!("cli:{user}"), request: None }
}

pub(crate) fn make_folder(place: &DatabaseLocation) -> Result {
    let DatabaseLocation::Sqlite(path) = place else { return Ok(()) };
    let Some(folder) = path.parent() else { return Ok(()) };
    private_folder(folder).map_err(|error| {
        let message = format!("cannot create the folder {}", folder.display());
        unwritable(Diagnostic::configuration(message), &error)
    })
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        match error {
            Error::Missing(_) | Error::Exists(_) | Error::Conflict(_) => {
                Diagnostic::failed(error.to_string())
            }
            error => store_failure("the database operation failed", &error),
        }
    }
}

impl From<operator::Error> for Diagnostic {
    fn from(error: operator::Error) -> Self {
        match error {
            error @ operator::Error::Invalid { .. } => Diagnostic::usage(error.to_string()),
            operator::Error::Store(error) => error.into(),
            operator::Error::KeyOver => Diagnostic::failed("this key is revoked or expired")
                .hint("create a new one with `agent gateway key create`"),
            error => Diagnostic::failed(error.to_string()),
        }
    }
}

pub(crate) fn store_failure(message: &str, error: &Error) -> Diagnostic {
    let diagnostic = match error.kind() {
        ErrorKind::Temporary | ErrorKind::Caller => Diagnostic::failed(message),
        ErrorKind::Operator => Diagnostic::configuration(message),
    };
    diagnostic.because(error)
}
