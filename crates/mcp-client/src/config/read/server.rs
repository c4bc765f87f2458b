//! The reader of one server: single values are read as in every configuration, leniently, and
//! what a server is made of is added to it, module by module.

use std::ops::{Deref, DerefMut};

use settings::{KnownSecret, Manner, Problem, Scope};

/// Reads one entry and collects what is wrong with it.
pub(super) struct Reader<'a> {
    pub(super) server: &'a str,
    values: settings::Reader<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn of_server(scope: &'a Scope, server: &'a str) -> Self {
        Self { server, values: settings::Reader::new(scope, Some(server), Manner::Lenient) }
    }

    /// A reader of what holds for all servers.
    pub(super) fn of_all(scope: &'a Scope) -> Self {
        Self { server: "", values: settings::Reader::new(scope, None, Manner::Lenient) }
    }

    pub(super) fn finish(self) -> (Vec<Problem>, Vec<KnownSecret>) {
        self.values.finish()
    }
}

impl<'a> Deref for Reader<'a> {
    type Target = settings::Reader<'a>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.values
    }
}
