//! The member service: keys, charging, models, chat, responses.

pub mod config;
