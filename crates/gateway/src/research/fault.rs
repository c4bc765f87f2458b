//! Why a step of a job failed.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) is_temporary: bool,
}

impl Fault {
    pub(super) fn temporary(message: impl Into<String>) -> Self {
        Self { code: "upstream_unavailable", message: message.into(), is_temporary: true }
    }

    pub(super) fn permanent(code: &'static str, message: &str) -> Self {
        Self { code, message: message.to_owned(), is_temporary: false }
    }
}
