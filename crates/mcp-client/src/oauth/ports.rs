//! The five ports a client document can name.
