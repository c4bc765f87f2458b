//! What an authorization server sent the browser back with.
