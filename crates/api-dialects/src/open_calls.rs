//! Which call a streamed fragment belongs to.

use super::chunk::CallDelta;

/// The calls of a streamed completion, each with its position in the answer.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    calls: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    index: u64,
    id: String,
    position: usize,
}

impl OpenCalls {
    /// The position of the call that the fragment continues; `None` if it begins a new call.
    ///
    /// Without an index, a new id begins a new call. Some servers give every call the same index:
    /// there a new id together with a name does.
    pub(crate) fn find(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let call = match delta.index {
            Some(index) => self.calls.iter().rfind(|call| call.index == index)?,
            None => self.calls.last()?,
        };
        let other_id = delta.id().is_some_and(|id| id != call.id);
        let is_new = other_id && (delta.index.is_none() || delta.name().is_some());
        (!is_new).then_some(call.position)
    }

    pub(crate) fn add(&mut self, index: Option<u64>, id: &str, position: usize) {
        let next = || self.calls.last().map_or(0, |call| call.index.saturating_add(1));
        let index = index.unwrap_or_else(next);
        self.calls.push(OpenCall { index, id: id.to_owned(), position });
    }

    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        self.calls.iter().map(|call| call.position)
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }
}
