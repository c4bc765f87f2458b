//! Durable state of the member service in SQLite or PostgreSQL.
