//! The clients that members use: the `openai` packages of Python and of Node, and schemathesis.
//!
//! A script says what it found as one JSON document on its standard output.
