//! The five ports a client document can name.

use super::callback::Listener;

/// The ports, in the order in which they are tried.
pub const PINNED: [u16; 5] = [27890, 27891, 27892, 27893, 27894];

/// Binds the first of the five that is free, and holds it. None if all are held by others.
pub async fn bind_pinned() -> Option<Listener> {
    for port in PINNED {
        if let Ok(listener) = Listener::bind(port).await {
            return Some(listener);
        }
    }
    None
}
