//! A mapping of known keys: what was taken, and what nobody knows.

use settings::{Field, Key, Node, Problem, dotted, nearest, plainly};

use super::super::keys::{self, Applies};
use super::server::Reader;

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

/// The keys of one mapping that are still to be read.
pub(super) struct Section<'n> {
    name: &'static str,
    rest: settings::Section<'n>,
}

impl<'n> Section<'n> {
    /// Opens a mapping of known keys; `name` is empty for the entry itself.
    pub(super) fn open(
        reader: &mut Reader<'_>,
        name: &'static str,
        entries: &'n [(Key, Node)],
    ) -> Self {
        Self { name, rest: settings::Section::open(reader, name, entries) }
    }

    /// Takes a key out; a key that is absent or null is not there.
    pub(super) fn take(&mut self, name: &str) -> Option<Field<'n>> {
        debug_assert!(keys::find(self.name, name).is_some(), "{}.{name} is in no table", self.name);
        self.rest.take(name)
    }

    /// Removes the keys of the other kind of server, with a warning for each.
    pub(super) fn leave_out(&mut self, reader: &mut Reader<'_>, mine: Applies) {
        let section = self.name;
        self.rest.retain(|key, node| {
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
        self.rest.retain(|key, _| !keys::find(section, &key.text).is_some_and(&is_forgotten));
    }

    /// Removes keys without a word, by what stands there.
    pub(super) fn forget_where(&mut self, is_forgotten: impl Fn(&str, &Node) -> bool) {
        self.rest.retain(|key, node| !is_forgotten(&key.text, node));
    }

    /// Warns about every key that was not taken.
    pub(super) fn close(self, reader: &mut Reader<'_>) {
        self.rest.close(reader, |name| suggestion(self.name, name));
    }
}

/// What somebody who wrote this key probably meant.
fn suggestion(section: &str, name: &str) -> Option<String> {
    let plain = plainly(name);
    let own = nearest(name, keys::names(section));
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
