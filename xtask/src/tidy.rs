//! `cargo xtask tidy`: checks the rules of the repository on every file that git tracks or would add.

mod commands;
mod cycles;
mod dependencies;
mod documents;
mod finding;
mod layers;
mod markdown;
mod sources;
mod text;
mod tree;
mod words;

use finding::Finding;
use tree::Tree;

use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    if !arguments.is_empty() {
        return Err(Failure::usage("`tidy` takes no arguments"));
    }
    let tree = Tree::load(workspace.root())?;
    let metadata = workspace.resolved_metadata()?;
    let rules: [(&str, Vec<Finding>); 8] = [
        ("sources", sources::check(&tree)),
        ("layers", layers::check(&metadata)),
        ("cycles", cycles::check(&tree)),
        ("dependencies", dependencies::check(&tree, &metadata)),
        ("documents", documents::check(&tree, &workspace.member_folders())),
        ("commands", commands::check(&tree)),
        ("text", text::check(&tree)),
        ("words", words::check(&tree)),
    ];
    for finding in rules.iter().flat_map(|(_, findings)| findings) {
        println!("{finding}");
    }
    let total: usize = rules.iter().map(|(_, findings)| findings.len()).sum();
    if total == 0 {
        println!("tidy: {} rules, {} files, no findings", rules.len(), tree.files().count());
        return Ok(());
    }
    let counts: Vec<String> = rules
        .iter()
        .filter(|(_, findings)| !findings.is_empty())
        .map(|(name, findings)| format!("{name} {}", findings.len()))
        .collect();
    Err(Failure::work(format!("tidy: {total} findings ({})", counts.join(", "))))
}
