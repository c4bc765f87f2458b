//! The Responses API carried by chat completions.
