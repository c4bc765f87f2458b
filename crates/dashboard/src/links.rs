//! Opened install links that wait for an answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pages::Token;

/// Maximum number of unanswered links; further ones are rejected.
const MAX_LINKS: usize = 20;

/// Opened links, each under a secret name until answered.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<HashMap<String, String>>);

impl Links {
    /// Adds a link; returns the path of its dialog.
    pub(crate) fn add(&self, link: &str) -> Option<String> {
        let id = Token::draw()?.secret().to_owned();
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == MAX_LINKS {
            return None;
        }
        links.insert(id.clone(), link.to_owned());
        Some(format!("/install/{id}"))
    }

    pub(crate) fn get(&self, id: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
