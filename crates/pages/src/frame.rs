//! The facts that every page needs: title, assets, navigation, account.

use crate::{Html, icon};

/// The frame of a page: field `frame` of every template.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The title of the page.
    pub title: String,
    /// The name of the site.
    pub site: String,
    /// The path of the assets: [`crate::AssetSet::path`].
    pub assets: String,
    /// The links of the navigation. A page without them has no header.
    pub nav: Vec<NavItem>,
    /// The signed-in account.
    pub account: Option<Account>,
    /// A message above the content.
    pub notice: Option<Notice>,
    /// The token of all forms.
    pub csrf: String,
    /// The field of a form that was refused; empty for none.
    pub wrong: &'static str,
}

/// A message: `kind` is `good`, `warn` or `bad`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its colour and icon.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
}

impl Notice {
    /// Good news.
    pub fn good(text: impl Into<String>) -> Self {
        Self { kind: "good", text: text.into() }
    }

    /// Bad news.
    pub fn bad(text: impl Into<String>) -> Self {
        Self { kind: "bad", text: text.into() }
    }

    /// What a page says after an action, by the word in its address.
    pub fn done(texts: &[(&str, &str)], word: &str) -> Option<Self> {
        texts.iter().find(|(known, _)| *known == word).map(|(_, text)| Self::good(*text))
    }

    /// The icon.
    pub fn image(&self) -> Html {
        icon(if self.kind == "good" { "check" } else { "warn" })
    }

    /// Bad news interrupts a screen reader, good news wait.
    pub fn role(&self) -> &'static str {
        if self.kind == "good" { "status" } else { "alert" }
    }
}

/// A link of the navigation.
#[derive(Debug, Clone)]
pub struct NavItem {
    /// The heading above it, if it begins a group.
    pub group: &'static str,
    /// Its text.
    pub name: &'static str,
    /// Its address.
    pub path: &'static str,
    /// The name of its icon.
    pub icon: &'static str,
    /// Whether it leads to the page itself.
    pub is_current: bool,
}

/// The signed-in account.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// What it signed in with.
    pub detail: String,
}

impl NavItem {
    /// A link that begins a group if `group` is not empty.
    pub const fn new(
        group: &'static str,
        name: &'static str,
        path: &'static str,
        icon: &'static str,
    ) -> Self {
        Self { group, name, path, icon, is_current: false }
    }

    /// These links, with the one of the page of this path marked.
    pub fn marked(items: &[Self], path: &str) -> Vec<Self> {
        let marked = |item: &Self| Self { is_current: item.path == path, ..item.clone() };
        items.iter().map(marked).collect()
    }

    /// The icon.
    pub fn image(&self) -> Html {
        icon(self.icon)
    }
}
