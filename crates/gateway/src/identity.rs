//! Authentication by key: records are cached for a short time, secrets compared in constant time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use gateway_store::{KeyRecord, Scope, Store};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use ledger::Time;
use papaya::HashMap;
use ring::hmac;
use wire::error::Code;
use wire::key::ApiKey;

use crate::clock;
use crate::config::Pattern;
use crate::failure::{ApiError, ApiResult};
use crate::request_log;

/// How long a record is cached: the maximum delay of a revocation by another process.
const MAX_AGE: Duration = Duration::from_secs(2);
const MAX_CACHED: usize = 100_000;

pub(crate) static API_KEY: HeaderName = HeaderName::from_static("x-api-key");

pub struct KeyHasher(hmac::Key);

pub(crate) type Caller = Arc<KeyRecord>;

tokio::task_local! {
    /// The caller of a request that the service sends to itself for a signed-in person.
    static SIGNED_IN: Caller;
}

pub(crate) struct Identities {
    store: Arc<Store>,
    pub(crate) hasher: KeyHasher,
    cached: HashMap<String, (Caller, Instant), RandomState>,
}

impl KeyHasher {
    /// A hasher; equal secrets produce equal hashes.
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    pub fn hash(&self, key: &ApiKey) -> [u8; 32] {
        let tag = hmac::sign(&self.0, key.secret().as_bytes());
        let mut hash = [0; 32];
        hash.copy_from_slice(tag.as_ref());
        hash
    }

    /// Identifies the secret without revealing it.
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
    pub(crate) fn new(store: Arc<Store>, hasher: KeyHasher) -> Self {
        Self { store, hasher, cached: HashMap::with_hasher(RandomState::default()) }
    }

    pub(crate) fn forget(&self, public_id: &str) {
        self.cached.pin().remove(public_id);
    }

    pub(crate) fn forget_all(&self) {
        self.cached.pin().clear();
    }

    /// The caller that sent these headers; also noted in the log of the request.
    pub(crate) async fn caller(&self, headers: &HeaderMap) -> ApiResult<Caller> {
        if let Ok(caller) = SIGNED_IN.try_with(Clone::clone) {
            return Ok(caller);
        }
        let key = bearer(headers).or_else(|| headers.get(&API_KEY)?.to_str().ok());
        self.holder(key.unwrap_or_default()).await
    }

    pub(crate) async fn holder(&self, key: &str) -> ApiResult<Caller> {
        let key = ApiKey::parse(key).ok_or_else(ApiError::no_key)?;
        let record = self.record(key.public_id()).await?;
        if !self.hasher.is_of(&record.key.hash, &key) {
            return Err(ApiError::no_key());
        }
        usable(record)
    }

    /// The caller that signed in with the key of this public id, if the key is still valid.
    pub(crate) async fn signed_in(&self, public_id: &str) -> ApiResult<Caller> {
        usable(self.record(public_id).await?)
    }

    async fn record(&self, public_id: &str) -> ApiResult<Caller> {
        if let Some((record, since)) = self.cached.pin().get(public_id)
            && since.elapsed() < MAX_AGE
        {
            return Ok(record.clone());
        }
        let record = Arc::new(self.store.key(public_id).await?.ok_or_else(ApiError::no_key)?);
        let cached = self.cached.pin();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(public_id.to_owned(), (record.clone(), Instant::now()));
        Ok(record)
    }

    pub(crate) async fn caller_for(&self, headers: &HeaderMap, scope: Scope) -> ApiResult<Caller> {
        let caller = self.caller(headers).await?;
        if caller.key.scopes.contains(&scope) {
            return Ok(caller);
        }
        let message = format!("this key lacks the scope `{}`", scope.as_str());
        Err(ApiError::new(Code::ScopeMissing, message))
    }
}

/// Runs a request that the service sends to itself as this caller.
pub(crate) async fn as_caller<F: Future>(caller: Caller, request: F) -> F::Output {
    SIGNED_IN.scope(caller, request).await
}

/// The record of a key that is valid now; also noted in the log of the request.
fn usable(record: Caller) -> ApiResult<Caller> {
    let now = clock::now();
    let is_over = |end: Option<Time>| end.is_some_and(|end| end <= now);
    if is_over(record.key.expires_at) || is_over(record.key.revoked_at) {
        return Err(ApiError::no_key());
    }
    if record.member_blocked {
        return Err(ledger::Refusal::Blocked.into());
    }
    request_log::note_caller(&record);
    Ok(record)
}

/// Whether a key may use a model of this name. The models of a key may be patterns, as aliases may.
pub(crate) fn may_use(caller: &KeyRecord, asked: &str) -> bool {
    let allows = |model: &String| {
        model == asked || (model.contains('*') && Pattern::new(model.as_str()).matches(asked))
    };
    caller.key.models.as_ref().is_none_or(|models| models.iter().any(allows))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
}
