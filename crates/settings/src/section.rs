//! A mapping of known keys: what was taken, and what nobody knows.

use std::collections::BTreeMap;

use crate::node::{Key, Node, Value};
use crate::problem::{Place, Problem};
use crate::reader::Reader;

/// The least likeness of a name that is worth asking "did you mean".
pub const LEAST_LIKENESS: f64 = 0.84;

/// One value of a section and the name to report it by.
#[derive(Debug, Clone)]
pub struct Field<'n> {
    /// Dotted, with the names of the sections above.
    pub key: String,
    /// Where it stands.
    pub place: Place,
    /// What stands there.
    pub node: &'n Node,
}

impl<'n> Field<'n> {
    /// The value under a key of the mapping `section`.
    pub fn within(section: &str, key: &Key, node: &'n Node) -> Self {
        let place =
            if node.place == Place::default() || node.is_null() { key.place } else { node.place };
        Self { key: dotted(section, &key.text), place, node }
    }

    /// An item of a list.
    #[must_use]
    pub fn item(&self, index: usize, node: &'n Node) -> Self {
        Self { key: format!("{}[{index}]", self.key), place: node.place, node }
    }
}

/// The keys of one mapping that are still to be read.
#[derive(Debug)]
pub struct Section<'n> {
    name: String,
    entries: Vec<&'n (Key, Node)>,
}

impl<'n> Section<'n> {
    /// Opens a mapping of known keys; `name` is empty for the outermost one.
    pub fn open(
        reader: &mut Reader<'_>,
        name: impl Into<String>,
        entries: &'n [(Key, Node)],
    ) -> Self {
        let name = name.into();
        reader.report_duplicates(&name, entries);
        Self { name, entries: entries.iter().collect() }
    }

    /// Takes a key out; a key that is absent or null is not there.
    pub fn take(&mut self, name: &str) -> Option<Field<'n>> {
        let mut taken = None;
        self.entries.retain(|(key, node)| {
            let is_it = key.text == name;
            if is_it {
                taken = Some((key, node));
            }
            !is_it
        });
        let (key, node) = taken.filter(|(_, node)| !node.is_null())?;
        Some(Field::within(&self.name, key, node))
    }

    /// Keeps only some of the keys that were not taken yet.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&Key, &Node) -> bool) {
        self.entries.retain(|(key, node)| is_kept(key, node));
    }

    /// Reports every key that was not taken, with what was probably meant by it.
    pub fn close(self, reader: &mut Reader<'_>, suggestion: impl Fn(&str) -> Option<String>) {
        for (key, _) in &self.entries {
            reader.report_unknown(&dotted(&self.name, &key.text), key.place, suggestion(&key.text));
        }
    }
}

impl Reader<'_> {
    /// The entries of a mapping from names to values, if it is one and not too long.
    pub fn named_values<'n>(
        &mut self,
        field: &Field<'n>,
        most: usize,
        what: &str,
    ) -> Option<&'n [(Key, Node)]> {
        let Value::Map(entries) = &field.node.value else {
            let kind = field.node.kind();
            self.refuse(field, format!("must be a mapping from names to values, found {kind}"));
            return None;
        };
        self.report_duplicates(&field.key, entries);
        if entries.len() > most {
            self.refuse(field, format!("must be at most {most} {what}"));
            return None;
        }
        Some(entries)
    }

    /// Reports every key that stands twice.
    pub fn report_duplicates(&mut self, section: &str, entries: &[(Key, Node)]) {
        for (first, second) in duplicates(entries) {
            self.report(&dotted(section, &second.text), given_twice(first, second));
        }
    }
}

/// Pairs of keys that stand twice in one mapping: the first, and each later one.
pub fn duplicates(entries: &[(Key, Node)]) -> Vec<(&Key, &Key)> {
    let mut seen: BTreeMap<&str, &Key> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (key, _) in entries {
        match seen.get(key.text.as_str()) {
            Some(first) => pairs.push((*first, key)),
            None => {
                seen.insert(&key.text, key);
            }
        }
    }
    pairs
}

/// The problem of a key that stands twice.
pub fn given_twice(first: &Key, second: &Key) -> Problem {
    let message = format!(
        "`{}` is given twice, in line {} and in line {}",
        second.text, first.place.line, second.place.line
    );
    Problem::error(second.place, message).hint("remove one of them")
}

/// The name of a key with its section before it.
pub fn dotted(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

/// The known name that is most like this one, if any is like it, and how much: 1 if they differ
/// only in case, underscores and hyphens.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<(f64, &'k str)> {
    let plain = plainly(name);
    known
        .into_iter()
        .map(|known| {
            let same = plainly(known) == plain;
            (if same { 1.0 } else { strsim::jaro_winkler(known, name) }, known)
        })
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// A name without case, underscores and hyphens.
pub fn plainly(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Manner;
    use crate::reference::Scope;

    fn read(manner: Manner, text: &str) -> Vec<String> {
        let scope = Scope::default();
        let root = Node::from_yaml(text).unwrap_or_else(|problem| panic!("{problem}"));
        let Value::Map(entries) = &root.value else { panic!("{}", root.kind()) };
        let mut reader = Reader::new(&scope, None, manner);
        let mut section = Section::open(&mut reader, "top", entries);
        section.take("listen");
        section.close(&mut reader, |name| {
            nearest(name, ["listen", "limits"]).map(|(_, known)| format!("did you mean `{known}`?"))
        });
        reader.finish().0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_was_not_taken_is_reported_with_the_nearest_name() {
        let text = "listen: 1\nLis-ten: 2\nzzz: 3\n";
        assert_eq!(
            read(Manner::Lenient, text),
            [
                "2:1: top.Lis-ten: is not a known key and is ignored (did you mean `listen`?)",
                "3:1: top.zzz: is not a known key and is ignored",
            ]
        );
        assert_eq!(
            read(Manner::Strict, text),
            [
                "2:1: top.Lis-ten: is not a known key (did you mean `listen`?)",
                "3:1: top.zzz: is not a known key",
            ]
        );
    }

    #[test]
    fn a_key_that_stands_twice_names_both_lines() {
        assert_eq!(
            read(Manner::Strict, "listen: 1\nlisten: 2\n"),
            ["2:1: top.listen: `listen` is given twice, in line 1 and in line 2 (remove one of \
              them)"]
        );
    }

    #[test]
    fn a_key_without_a_value_is_not_there() {
        let root = Node::from_yaml("a:\nb: 1").unwrap_or_else(|problem| panic!("{problem}"));
        let Value::Map(entries) = &root.value else { panic!("{}", root.kind()) };
        let scope = Scope::default();
        let mut reader = Reader::new(&scope, None, Manner::Strict);
        let mut section = Section::open(&mut reader, "", entries);
        assert!(section.take("a").is_none());
        assert_eq!(section.take("b").map(|field| field.key).as_deref(), Some("b"));
        section.close(&mut reader, |_| None);
        assert_eq!(reader.finish().0, []);
    }
}
