//! Registered clients, and the codes and tokens that were issued to them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::script::{Issuer, Refresh};

#[derive(Debug, Default)]
pub(super) struct GrantStore {
    pub(super) clients: BTreeMap<String, Value>,
    codes: BTreeMap<String, Code>,
    /// Each with its expiry.
    access: BTreeMap<String, (Grant, Instant)>,
    refresh: BTreeMap<String, Grant>,
    /// Used codes and refresh tokens, and the login they belonged to.
    spent: BTreeMap<String, u64>,
    ended: BTreeSet<u64>,
    counter: u64,
    random: RandomState,
}

#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) client: String,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    pub(super) issuer: Issuer,
    /// The login that everything else derives from.
    pub(super) login: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) grant: Grant,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
}

impl GrantStore {
    /// An unguessable token that includes its kind.
    pub(super) fn word(&mut self, kind: &str) -> String {
        self.counter += 1;
        format!("{kind}-{}-{:016x}", self.counter, self.random.hash_one(self.counter))
    }

    pub(super) fn new_login(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub(super) fn new_code(&mut self, code: Code) -> String {
        let word = self.word("code");
        self.codes.insert(word.clone(), code);
        word
    }

    /// Takes a code, which works once; a second use ends the login.
    pub(super) fn take_code(&mut self, word: &str) -> Option<Code> {
        self.end_if_spent(word);
        let code = self.codes.remove(word)?;
        self.spent.insert(word.to_owned(), code.grant.login);
        Some(code)
    }

    /// The grant of a refresh token; reuse ends the login.
    pub(super) fn refreshed(&mut self, word: &str) -> Option<Grant> {
        self.end_if_spent(word);
        self.refresh.get(word).filter(|grant| !self.ended.contains(&grant.login)).cloned()
    }

    pub(super) fn spend(&mut self, word: &str) {
        if let Some(grant) = self.refresh.remove(word) {
            self.spent.insert(word.to_owned(), grant.login);
        }
    }

    /// An access token, and a refresh token unless there is none.
    pub(super) fn issue(
        &mut self,
        grant: &Grant,
        seconds: u64,
        refresh: Refresh,
    ) -> (String, Option<String>) {
        let access = self.word("access");
        let until = Instant::now() + Duration::from_secs(seconds);
        self.access.insert(access.clone(), (grant.clone(), until));
        let refresh = (refresh != Refresh::Never).then(|| {
            let word = self.word("refresh");
            self.refresh.insert(word.clone(), grant.clone());
            word
        });
        (access, refresh)
    }

    /// The grant of an access token.
    pub(super) fn accepted(&self, word: &str) -> Option<&Grant> {
        let (grant, until) = self.access.get(word)?;
        (Instant::now() < *until && !self.ended.contains(&grant.login)).then_some(grant)
    }

    pub(super) fn revoke(&mut self, word: &str) {
        if let Some(grant) = self.refresh.remove(word) {
            self.ended.insert(grant.login);
        }
        self.access.remove(word);
    }

    pub(super) fn expire_access(&mut self) {
        self.access.clear();
    }

    pub(super) fn revoke_everything(&mut self) {
        self.access.clear();
        self.refresh.clear();
        self.codes.clear();
    }

    fn end_if_spent(&mut self, word: &str) {
        if let Some(login) = self.spent.get(word) {
            self.ended.insert(*login);
        }
    }
}
