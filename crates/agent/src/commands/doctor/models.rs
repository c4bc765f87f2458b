//! The model files of this machine.

use local_model::About;
use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;
use crate::finding::Finding;
use crate::model_files::model_dir::ModelDir;
use crate::session::Session;
use crate::table::{amount, counted};

/// Whether those that are there can be used; where there are none there is nothing to say.
pub(super) fn look(session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    const AREA: &str = "models";
    let shelf = ModelDir::find(session)?;
    let names = match shelf.content() {
        Ok(content) => content.names,
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of(AREA)]),
    };
    let (mut good, mut bytes, mut checks) = (0, 0, Vec::new());
    for name in &names {
        match About::read(&shelf.path(name)) {
            Ok(about) => (good, bytes) = (good + 1, bytes + about.file_bytes),
            Err(problem) => {
                let why = printable(&problem.to_string());
                let check = Finding::warning(format!("`{name}` cannot be used: {why}")).of(AREA);
                checks.push(check.hint(format!("remove it with `agent models remove {name}`")));
            }
        }
    }
    if good > 0 {
        let (count, size) = (counted(good, "model file"), amount(bytes));
        let what = format!("{count}, {size}, in {}", shelf.folder().display());
        checks.insert(0, Finding::good(what).of(AREA));
    }
    Ok(checks)
}
