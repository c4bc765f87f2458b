//! Kinds of pages, and pages that mean harm.
