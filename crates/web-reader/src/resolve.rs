//! Resolution of host names.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves host names. It is untrusted: the guard checks its answers.
pub trait Resolve: Send + Sync + fmt::Debug {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Whether a failed resolution may succeed later. Only the error message of the system tells.
pub(crate) fn is_temporary(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut || error.to_string().contains("emporary failure")
}
