//! The five redirect ports that a client document names.

use super::callback::CallbackListener;

/// The ports in the order of preference.
pub const PINNED_PORTS: [u16; 5] = [27890, 27891, 27892, 27893, 27894];

/// Binds the first free port; `None` if all are taken.
pub async fn bind_pinned() -> Option<CallbackListener> {
    for port in PINNED_PORTS {
        if let Ok(listener) = CallbackListener::bind(port).await {
            return Some(listener);
        }
    }
    None
}
