//! Access to pages: by one-time link, then by session cookie.
//!
//! The requests are checked by [`crate::guard`].

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::body::Body;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use pages::{Token, redirect, secure};

/// Maximum unopened links; beyond it the oldest are dropped.
const MAX_LINKS: usize = 100;
const MAX_SESSIONS: usize = 100;
/// Maximum number of unanswered install links; further ones are rejected.
const MAX_INSTALL_LINKS: usize = 20;

/// Links and sessions of browsers. They end with the process.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) port: u16,
    links: Mutex<Vec<(Token, String)>>,
    /// The hashes of session tokens.
    sessions: Mutex<Vec<[u8; 32]>>,
    last_request: Mutex<Instant>,
}

fn draw() -> io::Result<Token> {
    Token::draw().ok_or_else(|| io::Error::other("the machine returns no random bytes"))
}

impl Access {
    pub(crate) fn new(port: u16) -> Self {
        let last_request = Mutex::new(Instant::now());
        Self { port, links: Mutex::default(), sessions: Mutex::default(), last_request }
    }

    /// Creates a URL that opens a page once.
    pub(crate) fn link(&self, path: &str) -> io::Result<String> {
        let token = draw()?;
        let address = format!("http://127.0.0.1:{}/open/{}", self.port, token.secret());
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == MAX_LINKS {
            links.remove(0);
        }
        links.push((token, path.to_owned()));
        Ok(address)
    }

    pub(crate) fn note_request(&self) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn last_request(&self) -> Instant {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cookies ignore ports, so each dashboard on this machine uses its own name.
    fn cookie(&self) -> String {
        format!("agent-dashboard-{}", self.port)
    }

    /// Starts a session for the first opener of a link.
    pub(crate) fn open(&self, secret: &str) -> Option<Response> {
        let wanted = Token::parse(secret)?.hash();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let at = links.iter().position(|(token, _)| token.hash() == wanted)?;
        let (_, path) = links.remove(at);
        let token = Token::draw()?;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == MAX_SESSIONS {
            sessions.remove(0);
        }
        sessions.push(token.hash());
        let mut response = redirect(&path);
        response.headers_mut().insert(SET_COOKIE, token.set_cookie(&self.cookie(), None, false)?);
        Some(response)
    }

    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<Token> {
        let token = Token::of_cookie(headers, &self.cookie())?;
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.contains(&token.hash()).then_some(token)
    }
}

/// Opened install links, each under a secret name until answered.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<HashMap<String, String>>);

impl Links {
    /// Adds a link; returns the path of its dialog.
    pub(crate) fn add(&self, link: &str) -> io::Result<String> {
        let id = draw()?;
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == MAX_INSTALL_LINKS {
            let message = format!("{MAX_INSTALL_LINKS} install links are open; answer one of them");
            return Err(io::Error::other(message));
        }
        links.insert(id.secret().to_owned(), link.to_owned());
        Ok(format!("/install/{}", id.secret()))
    }

    pub(crate) fn get(&self, id: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = (status, Body::from(text)).into_response();
    secure(response.headers_mut());
    response
}
