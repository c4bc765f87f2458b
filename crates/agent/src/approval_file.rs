//! The approvals of a profile, in a file of its home.

use std::io;
use std::path::PathBuf;

use task_loop::approval_memory::ApprovalStore;

use crate::config::{self, lock};
use crate::diagnostic::Diagnostic;

#[derive(Debug)]
pub(crate) struct ApprovalFile(pub(crate) PathBuf);

impl ApprovalStore for ApprovalFile {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn read(&self) -> io::Result<Option<String>> {
        config::read(&self.0).map_err(one_line)
    }

    fn update(&self, change: &mut dyn FnMut() -> io::Result<Option<String>>) -> io::Result<()> {
        let _lock = lock::take(&self.0).map_err(one_line)?;
        match change()? {
            Some(text) => config::write(&self.0, &text).map_err(one_line),
            None => Ok(()),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "called by map_err")]
fn one_line(diagnostic: Diagnostic) -> io::Error {
    io::Error::other(diagnostic.line())
}
