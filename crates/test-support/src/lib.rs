//! Real peers for tests.
