//! The replacement of local models in a build without the feature `local-model`.

use bytes::Bytes;

use super::Owner;
use super::failure::Failure;
use super::{LocalAnswer, LocalScan};
use crate::config::{self, Timeouts};

pub(crate) enum Local {}

impl Local {
    pub(crate) fn open(_: &config::Provider) -> Option<Self> {
        None
    }

    pub(crate) async fn scan(&self) -> LocalScan {
        match *self {}
    }

    pub(crate) fn model_info(&self, _: &str) -> (u64, Option<String>) {
        match *self {}
    }

    pub(crate) fn is_usable(&self, _: &str) -> bool {
        match *self {}
    }

    pub(crate) fn problem(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) async fn answer(
        &self,
        _: &Bytes,
        _: Owner,
        _: Timeouts,
    ) -> Result<LocalAnswer, Failure> {
        match *self {}
    }
}
