//! The data that every page needs: title, assets, navigation, account.

use crate::{Html, icon};

/// The frame of a page: field `frame` of every template.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub title: String,
    /// The name of the site.
    pub site: String,
    /// The path of the assets: [`crate::AssetSet::path`].
    pub assets: String,
    /// Navigation links. A page without them has no header.
    pub nav: Vec<NavItem>,
    pub account: Option<Account>,
    /// A message above the content.
    pub notice: Option<Notice>,
    /// The token of all forms.
    pub csrf: String,
    /// The refused field of a form; empty for none.
    pub wrong: &'static str,
}

/// A message: `kind` is `good`, `warn` or `bad`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its colour and icon.
    pub kind: &'static str,
    pub text: String,
}

impl Notice {
    pub fn good(text: impl Into<String>) -> Self {
        Self { kind: "good", text: text.into() }
    }

    pub fn bad(text: impl Into<String>) -> Self {
        Self { kind: "bad", text: text.into() }
    }

    /// The success notice for a word in the URL.
    pub fn done(texts: &[(&str, &str)], word: &str) -> Option<Self> {
        texts.iter().find(|(known, _)| *known == word).map(|(_, text)| Self::good(*text))
    }

    pub fn image(&self) -> Html {
        icon(if self.kind == "good" { "check" } else { "warn" })
    }

    /// A failure interrupts a screen reader, a success waits.
    pub fn role(&self) -> &'static str {
        if self.kind == "good" { "status" } else { "alert" }
    }
}

#[derive(Debug, Clone)]
pub struct NavItem {
    /// Heading above it, if it starts a group.
    pub group: &'static str,
    pub name: &'static str,
    pub path: &'static str,
    /// The name of its icon.
    pub icon: &'static str,
    /// Whether it leads to the current page.
    pub is_current: bool,
}

#[derive(Debug, Clone)]
pub struct Account {
    pub name: String,
    /// Its sign-in method.
    pub detail: String,
}

impl NavItem {
    /// A link; it starts a group if `group` is not empty.
    pub const fn new(
        group: &'static str,
        name: &'static str,
        path: &'static str,
        icon: &'static str,
    ) -> Self {
        Self { group, name, path, icon, is_current: false }
    }

    /// These links, with the one of this path marked as current.
    pub fn marked(items: &[Self], path: &str) -> Vec<Self> {
        let marked = |item: &Self| Self { is_current: item.path == path, ..item.clone() };
        items.iter().map(marked).collect()
    }

    pub fn image(&self) -> Html {
        icon(self.icon)
    }
}
