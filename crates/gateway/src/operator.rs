//! What operators do to members, keys and money. The admin API and the commands both go through here,
//! so that neither can do what the other refuses.

use std::fmt::Display;
use std::time::Duration;

use gateway_store::{
    Actor, KeyChange, KeyRecord, KeyRotation, Member, MemberChange, NewKey, Scope, Store,
};
use ledger::{Limits, MemberId, Micros, PostingKind, Refusal, Time, Transfer, TransferResult};
use wire::admin::{
    MAX_AMOUNT_MICROS, MAX_KEY_MODELS, MAX_KEY_RATE, MAX_NAME_CHARS, MAX_OVERLAP_SECONDS,
    MAX_REASON_CHARS, MAX_REFERENCE_CHARS,
};
use wire::key::ApiKey;

use crate::clock;
use crate::identity::KeyHasher;
use crate::key_secret;

/// Names of members do not look like their ids.
const MEMBER_PREFIX: &str = "mem_";

/// Someone who may change everything, and what they change.
#[derive(Debug, Clone, Copy)]
pub struct Operator<'a> {
    /// The books.
    pub store: &'a Store,
    /// Whom the audit log names.
    pub by: &'a Actor,
}

/// A key that is to be made.
#[derive(Debug, Clone)]
pub struct KeyOrder {
    /// Whose.
    pub member: MemberId,
    /// What to call it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The models it may use; `None` is all.
    pub models: Option<Vec<String>>,
    /// When it ends.
    pub expires_at: Option<Time>,
    /// What it may take.
    pub limits: Limits,
}

/// A key that was made. The secret is in it, and nowhere else.
#[derive(Debug)]
pub struct Issued {
    /// The key.
    pub key: ApiKey,
    /// As it is kept.
    pub record: KeyRecord,
}

/// Why an operator's wish was not granted. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A field has a value that it cannot have.
    #[error("`{field}` must be {wanted}")]
    Invalid {
        /// The field, as the admin API calls it.
        field: &'static str,
        /// What its value must be.
        wanted: String,
    },
    /// What should be changed does not exist.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// What should be made exists.
    #[error("there is such a {0} already")]
    Exists(&'static str),
    /// A new key would be over already.
    #[error("`expires_at` must be in the future")]
    Past,
    /// A key that is over cannot be rotated.
    #[error("this key is revoked or expired; make a new one")]
    KeyOver,
    /// The member has too little for an adjustment.
    #[error("the member has {available} credits that can be taken; what is held is not counted")]
    Short {
        /// What can be taken.
        available: Micros,
    },
    /// The laws of the ledger refuse it.
    #[error("{0}; nothing was moved")]
    Refused(Refusal),
    /// There are no random bytes for a key.
    #[error("the machine gives no random bytes")]
    NoRandom,
    /// The store failed.
    #[error("the database did not do it")]
    Store(#[source] gateway_store::Error),
}

type Result<T> = std::result::Result<T, Error>;

impl Operator<'_> {
    /// Makes a member.
    pub async fn create_member(self, name: &str) -> Result<Member> {
        check_member_name(name)?;
        Ok(self.store.create_member(name, self.by).await?)
    }

    /// Renames, blocks or unblocks a member.
    pub async fn change_member(self, id: MemberId, change: &MemberChange) -> Result<Member> {
        if let MemberChange::Rename(name) = change {
            check_member_name(name)?;
        }
        Ok(self.store.change_member(id, change, self.by).await?)
    }

    /// Moves money. A transfer with a reference is made once, however often it is asked for.
    pub async fn transfer(self, transfer: Transfer) -> Result<TransferResult> {
        let least = match transfer.kind {
            PostingKind::TopUp => 1,
            _ => -MAX_AMOUNT_MICROS,
        };
        let amount = transfer.amount.get();
        check_range("amount_micros", amount, (least, MAX_AMOUNT_MICROS))?;
        if amount == 0 {
            return Err(invalid("amount_micros", "more or less than zero"));
        }
        check_text("reason", &transfer.reason, MAX_REASON_CHARS)?;
        if let Some(reference) = &transfer.reference {
            check_text("reference", reference, MAX_REFERENCE_CHARS)?;
        }
        self.store.post(transfer, self.by).await?.map_err(|refusal| match refusal {
            Refusal::UnknownMember => Error::Missing("member"),
            Refusal::InsufficientBalance { available, .. } => Error::Short { available },
            refusal => Error::Refused(refusal),
        })
    }

    /// Makes a key.
    pub async fn create_key(self, hasher: &KeyHasher, order: KeyOrder) -> Result<Issued> {
        let KeyOrder { member, name, mut scopes, models, expires_at, limits } = order;
        check_text("name", &name, MAX_NAME_CHARS)?;
        check_scopes(&mut scopes)?;
        check_models(models.as_deref())?;
        check_limits(&limits)?;
        if expires_at.is_some_and(|end| end <= clock::now()) {
            return Err(Error::Past);
        }
        let key = key_secret::draw().ok_or(Error::NoRandom)?;
        let (id, hash) = (key.public_id().to_owned(), hasher.hash(&key));
        let new = NewKey { id, hash, member, name, scopes, models, expires_at, limits };
        self.store.create_key(&new, self.by).await?;
        self.issued(key).await
    }

    /// Changes what a key may do.
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

    /// Makes a key in the place of one that is good; the old one is good for `overlap` still.
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
            overlap_micros: i64::try_from(overlap.as_micros()).unwrap_or(i64::MAX),
        };
        self.store.rotate_key(&rotation, self.by).await?;
        self.issued(key).await
    }

    /// Makes a key worthless.
    pub async fn revoke_key(self, id: &str) -> Result<KeyRecord> {
        Ok(self.store.revoke_key(id, self.by).await?)
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
        return Err(invalid("name", format!("a name that does not begin with `{MEMBER_PREFIX}`")));
    }
    Ok(())
}

/// A name or reason: visible characters, without blanks around them.
fn check_text(field: &'static str, text: &str, max_chars: usize) -> Result<()> {
    let is_short = (1..=max_chars).contains(&text.chars().count());
    if is_short && text.trim() == text && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let wanted = format!("1 to {max_chars} characters on one line, without spaces around them");
    Err(invalid(field, wanted))
}

fn check_range<T: PartialOrd + Display + Copy>(
    field: &'static str,
    value: T,
    (min, max): (T, T),
) -> Result<()> {
    if value >= min && value <= max {
        return Ok(());
    }
    Err(invalid(field, format!("a whole number from {min} to {max}")))
}

/// Some scopes, each once.
fn check_scopes(scopes: &mut Vec<Scope>) -> Result<()> {
    if !(1..=Scope::ALL.len()).contains(&scopes.len()) {
        return Err(invalid("scopes", format!("1 to {} words", Scope::ALL.len())));
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
        check_range("spend_limit_micros", spend.get(), (0, MAX_AMOUNT_MICROS))?;
    }
    if let Some(rate) = limits.requests_per_minute {
        check_range("requests_per_minute", rate, (1, MAX_KEY_RATE))?;
    }
    if let Some(concurrency) = limits.concurrency {
        check_range("concurrency", concurrency, (1, MAX_KEY_RATE))?;
    }
    Ok(())
}
