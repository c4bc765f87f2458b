//! Edits of servers, and what they must not touch.
