//! The root key `mcp`: what holds for all servers.

use settings::{Key, Node, Problem, Scope, Value, given_twice};

use super::super::keys::FOR_ALL;
use super::Parsed;
use super::section::Section;
use super::server::Reader;

/// Reads it, if it is there.
pub(super) fn read(root: &[(Key, Node)], scope: &Scope, parsed: &mut Parsed) {
    let mut found = root.iter().filter(|(key, _)| key.text == FOR_ALL.name);
    let Some((first, node)) = found.next() else { return };
    let about = |problem| Problem { key: Some(FOR_ALL.name.to_owned()), ..problem };
    if let Some((second, _)) = found.next() {
        parsed.problems.push(about(given_twice(first, second)));
        return;
    }
    match &node.value {
        Value::Null => {}
        Value::Map(entries) => {
            let mut reader = Reader::of_all(scope);
            let mut section = Section::open(&mut reader, FOR_ALL.name, entries);
            let url = section.take("client_metadata_url");
            parsed.client_metadata_url = reader.client_metadata_url(url);
            section.close(&mut reader);
            let (problems, _) = reader.finish();
            parsed.problems.extend(problems);
        }
        _ => {
            let message = format!("must be a mapping, found {}", node.kind());
            parsed.problems.push(about(Problem::error(node.place, message)));
        }
    }
}
