//! A mapping of known keys: what was taken, and what nobody knows.

use std::collections::BTreeMap;

use super::super::keys::{self, Applies};
use super::super::node::{Key, Node, Value};
use super::super::problem::{Place, Problem};
use super::given_twice;
use super::values::Reader;

/// The least likeness of a name that is worth asking "did you mean".
const LEAST_LIKENESS: f64 = 0.84;

/// Names of other clients for what we call otherwise.
const ELSEWHERE: &[(&str, &str)] = &[
    ("type", "use `transport: sse` for the SSE transport; `url` or `command` says the rest"),
    ("disabled", "use `enabled: false`"),
    ("httpurl", "use `url`"),
    ("serverurl", "use `url`"),
    ("endpoint", "use `url`"),
    ("environment", "use `env`"),
    ("envvars", "use `env` with `${NAME}` references"),
    ("envfile", "put the variables into `env` or into the profile's `.env`"),
    ("bearertokenenvvar", "use `headers` with `Authorization: Bearer ${NAME}`"),
    ("httpheaders", "use `headers`"),
    ("envhttpheaders", "use `headers` with `${NAME}` references"),
    ("alwaysallow", "there is no such list; see `trust`"),
    ("autoapprove", "there is no such list; see `trust`"),
    ("enabledtools", "use `tools.include`"),
    ("disabledtools", "use `tools.exclude`"),
    ("includetools", "use `tools.include`"),
    ("excludetools", "use `tools.exclude`"),
    ("startuptimeoutsec", "use `connect_timeout`"),
    ("tooltimeoutsec", "use `timeout`"),
    ("scopes", "use `scope`, with spaces between the scopes"),
];

/// One value of a section and the name to report it by.
#[derive(Clone)]
pub(super) struct Field<'n> {
    /// Dotted, with the names of the sections above.
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: &'n Node,
}

/// The keys of one mapping that are still to be read.
pub(super) struct Section<'n> {
    name: &'static str,
    entries: Vec<&'n (Key, Node)>,
}

impl<'n> Section<'n> {
    /// Opens a mapping of known keys; `name` is empty for the entry itself.
    pub(super) fn open(
        reader: &mut Reader<'_>,
        name: &'static str,
        entries: &'n [(Key, Node)],
    ) -> Self {
        reader.report_duplicates(name, entries);
        Self { name, entries: entries.iter().collect() }
    }

    /// Takes a key out; a key that is absent or null is not there.
    pub(super) fn take(&mut self, name: &str) -> Option<Field<'n>> {
        debug_assert!(keys::find(self.name, name).is_some(), "{}.{name} is in no table", self.name);
        let mut taken = None;
        self.entries.retain(|(key, node)| {
            let is_it = key.text == name;
            if is_it {
                taken = Some((key, node));
            }
            !is_it
        });
        let (key, node) = taken.filter(|(_, node)| !node.is_null())?;
        let place = if node.place == Place::default() { key.place } else { node.place };
        Some(Field { key: dotted(self.name, name), place, node })
    }

    /// Removes the keys of the other kind of server, with a warning for each.
    pub(super) fn leave_out(&mut self, reader: &mut Reader<'_>, mine: Applies) {
        let section = self.name;
        self.entries.retain(|(key, node)| {
            let other = keys::find(section, &key.text)
                .filter(|known| known.applies != Applies::Both && known.applies != mine);
            if let Some(known) = other
                && !node.is_null()
            {
                let message = format!("applies to {} only and is ignored", known.applies.words());
                reader.report(&key.text, Problem::warning(key.place, message));
            }
            other.is_none()
        });
    }

    /// Removes keys without a word.
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(&keys::Known) -> bool) {
        let section = self.name;
        self.entries.retain(|(key, _)| !keys::find(section, &key.text).is_some_and(&is_forgotten));
    }

    /// Removes keys without a word, by what stands there.
    pub(super) fn forget_where(&mut self, is_forgotten: impl Fn(&str, &Node) -> bool) {
        self.entries.retain(|(key, node)| !is_forgotten(&key.text, node));
    }

    /// Warns about every key that was not taken.
    pub(super) fn close(self, reader: &mut Reader<'_>) {
        for (key, _) in &self.entries {
            let mut problem = Problem::warning(key.place, "is not a known key and is ignored");
            problem.hint = suggestion(self.name, &key.text);
            reader.report(&dotted(self.name, &key.text), problem);
        }
    }
}

/// Pairs of keys that stand twice in one mapping: the first, and each later one.
pub(super) fn duplicates(entries: &[(Key, Node)]) -> Vec<(&Key, &Key)> {
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

impl Reader<'_> {
    /// The entries of a mapping from names to values, if it is one and not too long.
    pub(super) fn named_values<'n>(
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
    pub(super) fn report_duplicates(&mut self, section: &str, entries: &[(Key, Node)]) {
        for (first, second) in duplicates(entries) {
            self.report(&dotted(section, &second.text), given_twice(first, second));
        }
    }
}

/// The name of a key with its section before it.
pub(super) fn dotted(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

/// What somebody who wrote this key probably meant.
fn suggestion(section: &str, name: &str) -> Option<String> {
    let plain = plainly(name);
    let likeness = |known: &str| {
        if plainly(known) == plain { 1.0 } else { strsim::jaro_winkler(known, name) }
    };
    let own = keys::names(section)
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, known)) = own.filter(|(likeness, _)| *likeness >= 1.0) {
        return Some(format!("did you mean `{known}`?"));
    }
    if let Some((_, hint)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == plain) {
        return Some((*hint).to_owned());
    }
    if let Some((_, known)) = own {
        return Some(format!("did you mean `{known}`?"));
    }
    // A key of another section that stands in the wrong one.
    keys::SECTIONS
        .iter()
        .filter(|other| other.name != section && keys::find(other.name, name).is_some())
        .map(|other| format!("did you mean `{}`?", dotted(other.name, name)))
        .next()
}

/// A name without case, underscores and hyphens.
fn plainly(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
