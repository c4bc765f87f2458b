//! What a server says in `WWW-Authenticate`.
