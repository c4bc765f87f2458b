//! Operations on members, keys, money and the service, for the admin API, the console and the commands.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use gateway_store::{
    Actor, KeyChange, KeyRecord, KeyRotation, LedgerCheck, Member, MemberChange, NewKey,
    ProviderAction, Role, Scope, Store,
};
use ledger::{
    AccountKind, Budget, Limits, MemberId, Micros, PostingKind, Refusal, Transfer, TransferResult,
};
use wire::admin::{
    MAX_AMOUNT_MICROS, MAX_KEY_MODELS, MAX_KEY_RATE, MAX_NAME_CHARS, MAX_OVERLAP_SECONDS,
    MAX_REASON_CHARS, MAX_REFERENCE_CHARS,
};
use wire::key::ApiKey;

use crate::alerts::{Alerts, new_alert};
use crate::clock;
use crate::config::{self, Config};
use crate::identity::KeyHasher;
use crate::key_secret;

/// A name must not look like an id.
const MEMBER_PREFIX: &str = "mem_";

const NO_CHANNELS: &str =
    "no channel is configured; set `alerts.webhook` or `alerts.email` in gateway.yaml";

#[derive(Debug, Clone, Copy)]
pub struct Operator<'a> {
    pub store: &'a Store,
    /// The actor in the audit log.
    pub by: &'a Actor,
}

/// A new key: the only place that contains its secret.
#[derive(Debug)]
pub struct Issued {
    pub key: ApiKey,
    pub record: KeyRecord,
}

/// Why an operation was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{field}` must be {wanted}")]
    Invalid {
        /// The name of the field in the admin API.
        field: &'static str,
        wanted: String,
    },
    #[error("no such {0}")]
    Missing(&'static str),
    #[error("this {0} already exists")]
    Exists(&'static str),
    /// An expired or revoked key cannot be rotated.
    #[error("this key is revoked or expired; create a new one")]
    KeyOver,
    /// The member or team has too little for an adjustment.
    #[error("the {} has {available} available credits; held amounts cannot be taken", account.as_str())]
    Short { available: Micros, account: AccountKind },
    /// The state of the object does not allow the change.
    #[error("{0}")]
    Conflict(&'static str),
    /// A manager asks for something that only an operator may do.
    #[error("a manager may only set budgets of members of the own team")]
    NotOwnTeam,
    #[error("{0}; nothing was changed")]
    Refused(Refusal),
    /// The configuration file cannot replace the running configuration.
    #[error("the configuration was not reloaded, nothing was changed: {}", .0.join("; "))]
    Configuration(Vec<String>),
    #[error("the service is shutting down")]
    Stopping,
    #[error("the system returned no random bytes")]
    NoRandom,
    #[error("the database operation failed")]
    Store(#[source] gateway_store::Error),
}

type Result<T> = std::result::Result<T, Error>;

impl Operator<'_> {
    pub async fn create_member(self, name: &str) -> Result<Member> {
        check_member_name(name)?;
        Ok(self.store.create_member(name, self.by).await?)
    }

    pub async fn create_team(self, name: &str) -> Result<Member> {
        check_member_name(name)?;
        Ok(self.store.create_team(name, self.by).await?)
    }

    /// Sets the budget of a member on behalf of the manager of its team.
    pub async fn set_budget_as_manager(
        self,
        manager: MemberId,
        member: MemberId,
        budget: Option<Budget>,
    ) -> Result<Member> {
        let found = self.store.member(manager).await?;
        let can_manage = |it: &Member| it.role == Role::Manager && !it.blocked;
        let team = found.filter(can_manage).and_then(|it| it.team);
        let found = self.store.member(member).await?.and_then(|it| it.team);
        if team.is_none() || found != team {
            return Err(Error::NotOwnTeam);
        }
        self.change_member(member, &MemberChange::Budget(budget)).await
    }

    pub async fn change_member(self, id: MemberId, change: &MemberChange) -> Result<Member> {
        if let MemberChange::Rename(name) = change {
            check_member_name(name)?;
        }
        if let MemberChange::Budget(budget) = change {
            check_budget(*budget)?;
        }
        Ok(self.store.change_member(id, change, self.by).await?)
    }

    /// Transfers money, once for a reference.
    pub async fn transfer(self, transfer: Transfer) -> Result<TransferResult> {
        let least = match transfer.kind {
            PostingKind::TopUp => 1,
            _ => -MAX_AMOUNT_MICROS,
        };
        let amount = transfer.amount.get();
        check_range("amount_micros", amount, least..=MAX_AMOUNT_MICROS)?;
        if amount == 0 {
            return Err(invalid("amount_micros", "greater or less than zero"));
        }
        check_text("reason", &transfer.reason, MAX_REASON_CHARS)?;
        if let Some(reference) = &transfer.reference {
            check_text("reference", reference, MAX_REFERENCE_CHARS)?;
        }
        self.store.post(transfer, self.by).await?.map_err(|refusal| match refusal {
            Refusal::UnknownMember => Error::Missing("member"),
            Refusal::InsufficientBalance { available, account, .. } => {
                Error::Short { available, account }
            }
            refusal => Error::Refused(refusal),
        })
    }

    /// Creates a key. Defaults: all scopes, all models, no expiry, and the default limits.
    pub async fn create_key(
        self,
        hasher: &KeyHasher,
        member: MemberId,
        wanted: KeyChange,
        defaults: Limits,
    ) -> Result<Issued> {
        let (name, limits) = (wanted.name.unwrap_or_default(), wanted.limits.applied(defaults));
        let (models, expires_at) = (wanted.models.flatten(), wanted.expires_at.flatten());
        let mut scopes = wanted.scopes.unwrap_or_else(|| Scope::ALL.to_vec());
        check_text("name", &name, MAX_NAME_CHARS)?;
        check_scopes(&mut scopes)?;
        check_models(models.as_deref())?;
        check_limits(&limits)?;
        if expires_at.is_some_and(|end| end <= clock::now()) {
            return Err(Error::Conflict("`expires_at` must be in the future"));
        }
        let key = key_secret::draw().ok_or(Error::NoRandom)?;
        let (id, hash) = (key.public_id().to_owned(), hasher.hash(&key));
        let new = NewKey { id, hash, member, name, scopes, models, expires_at, limits };
        self.store.create_key(&new, self.by).await?;
        self.issued(key).await
    }

    pub async fn change_key(self, id: &str, mut change: KeyChange) -> Result<KeyRecord> {
        if let Some(name) = &change.name {
            check_text("name", name, MAX_NAME_CHARS)?;
        }
        if let Some(scopes) = &mut change.scopes {
            check_scopes(scopes)?;
        }
        check_models(change.models.as_ref().and_then(|models| models.as_deref()))?;
        check_limits(&change.limits.applied(Limits::default()))?;
        Ok(self.store.change_key(id, &change, self.by).await?)
    }

    /// Replaces a valid key; the old one stays valid for `overlap`.
    pub async fn rotate_key(
        self,
        hasher: &KeyHasher,
        id: &str,
        overlap: Duration,
    ) -> Result<Issued> {
        let most = Duration::from_secs(MAX_OVERLAP_SECONDS.into());
        if overlap > most {
            let wanted = format!("a whole number from 0 to {MAX_OVERLAP_SECONDS}");
            return Err(invalid("overlap_seconds", wanted));
        }
        let old = self.store.key(id).await?.ok_or(Error::Missing("key"))?.key;
        if old.revoked_at.is_some() || old.expires_at.is_some_and(|end| end <= clock::now()) {
            return Err(Error::KeyOver);
        }
        let key = key_secret::draw().ok_or(Error::NoRandom)?;
        let rotation = KeyRotation {
            old_id: id.to_owned(),
            new_id: key.public_id().to_owned(),
            new_hash: hasher.hash(&key),
            overlap_micros: clock::micros(overlap),
        };
        self.store.rotate_key(&rotation, self.by).await?;
        self.issued(key).await
    }

    pub async fn revoke_key(self, id: &str) -> Result<KeyRecord> {
        Ok(self.store.revoke_key(id, self.by).await?)
    }

    /// Asks all processes to reload their configuration; returns the number of the reload.
    pub async fn request_reload(self) -> Result<i64> {
        Ok(self.store.request_reload(self.by).await?)
    }

    /// Stops or allows new requests to a provider on all processes; returns whether this changed it.
    pub async fn change_provider(
        self,
        config: &Config,
        name: &str,
        action: ProviderAction,
    ) -> Result<bool> {
        let results = config.search.providers.iter().map(config::SearchProvider::name);
        let mut names = config.providers.iter().map(|it| it.name.as_str()).chain(results);
        let is_drained = self.store.shared_state().await?.drained.iter().any(|it| it == name);
        // One that was removed from the file can still be enabled.
        if !names.any(|known| known == name) && !is_drained {
            return Err(Error::Missing("provider"));
        }
        Ok(self.store.change_provider(name, action, self.by).await?)
    }

    /// Checks the ledger, and alerts if a figure is wrong.
    pub async fn check_ledger(self, alerts: Option<&config::Alerts>) -> Result<LedgerCheck> {
        let check = self.store.check_ledger().await?;
        if let Some(config) = alerts {
            Alerts { config, store: self.store }.ledger_checked(check.wrong).await;
        }
        Ok(check)
    }

    /// Stores an alert that tests all channels; returns its number.
    pub async fn test_alert(self, alerts: Option<&config::Alerts>) -> Result<i64> {
        let alerts = alerts.filter(|it| it.webhook.is_some() || it.email.is_some());
        let config = alerts.ok_or(Error::Conflict(NO_CHANNELS))?;
        let message = "this is a test of the alerts".to_owned();
        let alert = new_alert(config, "test", &self.by.name, message, None);
        self.store.open_alert(&alert).await?.ok_or(Error::Missing("alert"))
    }

    async fn issued(self, key: ApiKey) -> Result<Issued> {
        let record = self.store.key(key.public_id()).await?.ok_or(Error::Missing("key"))?;
        Ok(Issued { key, record })
    }
}

impl From<gateway_store::Error> for Error {
    fn from(error: gateway_store::Error) -> Self {
        match error {
            gateway_store::Error::Missing(what) => Self::Missing(what),
            gateway_store::Error::Exists(what) => Self::Exists(what),
            gateway_store::Error::Conflict(message) => Self::Conflict(message),
            error => Self::Store(error),
        }
    }
}

fn invalid(field: &'static str, wanted: impl Into<String>) -> Error {
    Error::Invalid { field, wanted: wanted.into() }
}

fn check_member_name(name: &str) -> Result<()> {
    check_text("name", name, MAX_NAME_CHARS)?;
    if name.starts_with(MEMBER_PREFIX) {
        return Err(invalid("name", format!("a name that does not start with `{MEMBER_PREFIX}`")));
    }
    Ok(())
}

/// Validates a name or reason: visible characters, trimmed.
fn check_text(field: &'static str, text: &str, max_chars: usize) -> Result<()> {
    let is_short = (1..=max_chars).contains(&text.chars().count());
    if is_short && text.trim() == text && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let wanted =
        format!("1 to {max_chars} characters on one line, without leading or trailing spaces");
    Err(invalid(field, wanted))
}

pub(crate) fn check_range<T: PartialOrd + Display + Copy>(
    field: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let (min, max) = range.into_inner();
    Err(invalid(field, format!("a whole number from {min} to {max}")))
}

fn check_scopes(scopes: &mut Vec<Scope>) -> Result<()> {
    if !(1..=Scope::ALL.len()).contains(&scopes.len()) {
        return Err(invalid("scopes", format!("1 to {} scopes", Scope::ALL.len())));
    }
    scopes.sort_unstable();
    scopes.dedup();
    Ok(())
}

fn check_models(models: Option<&[String]>) -> Result<()> {
    let Some(models) = models else { return Ok(()) };
    if !(1..=MAX_KEY_MODELS).contains(&models.len()) {
        return Err(invalid("models", format!("1 to {MAX_KEY_MODELS} ids, or null for all")));
    }
    models.iter().try_for_each(|model| check_text("models", model, MAX_NAME_CHARS))
}

fn check_limits(limits: &Limits) -> Result<()> {
    if let Some(spend) = limits.spend {
        check_range("spend_limit_micros", spend.get(), 0..=MAX_AMOUNT_MICROS)?;
    }
    if let Some(rate) = limits.requests_per_minute {
        check_range("requests_per_minute", rate, 1..=MAX_KEY_RATE)?;
    }
    if let Some(concurrency) = limits.concurrency {
        check_range("concurrency", concurrency, 1..=MAX_KEY_RATE)?;
    }
    check_budget(limits.budget)
}

fn check_budget(budget: Option<Budget>) -> Result<()> {
    let Some(budget) = budget else { return Ok(()) };
    check_range("budget.amount_micros", budget.amount.get(), 0..=MAX_AMOUNT_MICROS)
}
