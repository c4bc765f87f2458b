//! Who is asking: keys, looked up once in a while and compared in constant time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use gateway_store::{KeyRecord, Scope, Store};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use ledger::Time;
use papaya::HashMap;
use ring::hmac;
use wire::error::Code;
use wire::key::ApiKey;

use crate::failure::ApiError;

/// How long a key is believed without asking the store: a key that another process revoked is
/// worth something for so long at most.
const MAX_AGE: Duration = Duration::from_secs(2);
/// How many keys are remembered.
const MAX_REMEMBERED: usize = 100_000;

/// The secret that hashes of keys are made with.
pub struct KeyHasher(hmac::Key);

/// Who is asking.
pub(crate) type Caller = Arc<KeyRecord>;

/// Tells who is asking.
pub(crate) struct Identities {
    hasher: KeyHasher,
    known: HashMap<String, (Caller, Instant), RandomState>,
}

impl KeyHasher {
    /// A hasher; the same secret gives the same hashes.
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The hash under which a key is kept.
    pub fn hash(&self, key: &ApiKey) -> [u8; 32] {
        let tag = hmac::sign(&self.0, key.secret().as_bytes());
        let mut hash = [0; 32];
        hash.copy_from_slice(tag.as_ref());
        hash
    }

    /// A word that tells one secret from another, without telling the secret.
    pub fn fingerprint(&self) -> String {
        let tag = hmac::sign(&self.0, b"fingerprint");
        hex(tag.as_ref().get(..8).unwrap_or_default())
    }

    fn is_of(&self, hash: &[u8; 32], key: &ApiKey) -> bool {
        // Compares in constant time.
        hmac::verify(&self.0, key.secret().as_bytes(), hash).is_ok()
    }
}

impl std::fmt::Debug for KeyHasher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("KeyHasher(…)")
    }
}

impl Identities {
    pub(crate) fn new(hasher: KeyHasher) -> Self {
        Self { hasher, known: HashMap::with_hasher(RandomState::default()) }
    }

    pub(crate) fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Forgets what is known about a key, after a change of it.
    pub(crate) fn forget(&self, public_id: &str) {
        self.known.pin().remove(public_id);
    }

    /// Forgets everything, after a change of a member.
    pub(crate) fn forget_all(&self) {
        self.known.pin().clear();
    }

    /// Who sends these headers.
    pub(crate) async fn caller(
        &self,
        headers: &HeaderMap,
        store: &Store,
        now: Time,
    ) -> Result<Caller, ApiError> {
        let key = bearer(headers).and_then(ApiKey::parse).ok_or_else(ApiError::no_key)?;
        let record = match self.remembered(key.public_id()) {
            Some(record) => record,
            None => self.look_up(key.public_id(), store).await?,
        };
        let is_over = |end: Option<Time>| end.is_some_and(|end| end <= now);
        let known = &record.key;
        if !self.hasher.is_of(&known.hash, &key)
            || is_over(known.expires_at)
            || is_over(known.revoked_at)
        {
            return Err(ApiError::no_key());
        }
        if record.member_blocked {
            return Err(ledger::Refusal::Blocked.into());
        }
        Ok(record)
    }

    fn remembered(&self, public_id: &str) -> Option<Caller> {
        let known = self.known.pin();
        let (record, since) = known.get(public_id)?;
        (since.elapsed() < MAX_AGE).then(|| record.clone())
    }

    async fn look_up(&self, public_id: &str, store: &Store) -> Result<Caller, ApiError> {
        let record = store.key(public_id).await?.ok_or_else(ApiError::no_key)?;
        let record = Arc::new(record);
        let known = self.known.pin();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(public_id.to_owned(), (record.clone(), Instant::now()));
        Ok(record)
    }
}

/// Whether a key may be used for this.
pub(crate) fn check_scope(caller: &KeyRecord, scope: Scope) -> Result<(), ApiError> {
    if caller.key.scopes.contains(&scope) {
        return Ok(());
    }
    let message = format!("this key lacks the scope `{}`", scope.as_str());
    Err(ApiError::new(Code::ScopeMissing, message))
}

/// Whether a key may use a model, by the name it was asked for or by its full id.
pub(crate) fn may_use(caller: &KeyRecord, asked: &str) -> bool {
    caller.key.models.as_ref().is_none_or(|models| models.iter().any(|model| model == asked))
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The bearer credential of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
}
