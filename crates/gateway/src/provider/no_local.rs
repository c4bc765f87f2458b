//! What stands in for models in this process where the program was built without them.

use bytes::Bytes;

use super::send::{Failure, Owner};
use super::{Known, Look};
use crate::config::{self, Timeouts};

/// Whether the program was built with what computes models.
pub(crate) const HAS_LOCAL: bool = false;

/// There is none.
pub(crate) enum Local {}

/// There is none.
pub(crate) enum Answer {}

impl Local {
    pub(crate) fn open(_: &config::Provider) -> Option<Self> {
        None
    }

    pub(crate) async fn look(&self) -> Look {
        match *self {}
    }

    pub(crate) fn known(&self, _: &str) -> Known {
        match *self {}
    }

    pub(crate) fn is_usable(&self, _: &str) -> bool {
        match *self {}
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) async fn answer(&self, _: &Bytes, _: Owner, _: Timeouts) -> Result<Answer, Failure> {
        match *self {}
    }
}

impl Answer {
    pub(crate) fn media_type(&self) -> &'static str {
        match *self {}
    }

    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        match *self {}
    }
}
