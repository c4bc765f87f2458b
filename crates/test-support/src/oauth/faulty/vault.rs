//! Who is registered, and what was issued to whom.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::script::{Issuer, Refresh};

/// Clients, codes and tokens of both authorization servers.
#[derive(Debug, Default)]
pub(super) struct Vault {
    pub(super) clients: BTreeMap<String, Value>,
    codes: BTreeMap<String, Code>,
    access: BTreeMap<String, Access>,
    /// Refresh tokens that are good.
    refresh: BTreeMap<String, Grant>,
    /// Codes and refresh tokens that were used up, and the login they belonged to.
    spent: BTreeMap<String, u64>,
    ended: BTreeSet<u64>,
    counter: u64,
    random: RandomState,
}

/// What somebody consented to.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) client: String,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    pub(super) issuer: Issuer,
    /// The login from which everything else came.
    pub(super) login: u64,
}

/// An authorization code, with what its exchange must bring.
#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) grant: Grant,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
}

#[derive(Debug)]
struct Access {
    grant: Grant,
    until: Instant,
}

/// An access token, and perhaps a refresh token.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
}

impl Vault {
    /// A word that nobody can guess, and that says what it is.
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

    /// Takes a code, which works once; a second time ends the login.
    pub(super) fn take_code(&mut self, word: &str) -> Option<Code> {
        self.end_if_spent(word);
        let code = self.codes.remove(word)?;
        self.spent.insert(word.to_owned(), code.grant.login);
        Some(code)
    }

    /// The grant of a refresh token; a spent one ends the login.
    pub(super) fn refreshed(&mut self, word: &str) -> Option<Grant> {
        self.end_if_spent(word);
        self.refresh.get(word).filter(|grant| !self.ended.contains(&grant.login)).cloned()
    }

    pub(super) fn spend(&mut self, word: &str) {
        if let Some(grant) = self.refresh.remove(word) {
            self.spent.insert(word.to_owned(), grant.login);
        }
    }

    pub(super) fn issue(&mut self, grant: &Grant, seconds: u64, refresh: Refresh) -> Pair {
        let access = self.word("access");
        let until = Instant::now() + Duration::from_secs(seconds);
        self.access.insert(access.clone(), Access { grant: grant.clone(), until });
        let refresh = (refresh != Refresh::Never).then(|| {
            let word = self.word("refresh");
            self.refresh.insert(word.clone(), grant.clone());
            word
        });
        Pair { access, refresh }
    }

    /// What an access token is good for.
    pub(super) fn accepted(&self, word: &str) -> Option<&Grant> {
        let access = self.access.get(word)?;
        let is_good = Instant::now() < access.until && !self.ended.contains(&access.grant.login);
        is_good.then_some(&access.grant)
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
